package api

import (
	"sync"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// topicView is a topic with its settings in force, parsed once per version of the topic.
type topicView struct {
	*metadata.Topic
	topicconfig.Effective
	// recompress tells that batches are stored with codec and level whatever the producer sent.
	recompress bool
	codec      batch.Codec
	level      int
	// values is how the topic's values are stored.
	values partition.Values
}

// ref names one of the topic's partitions.
func (v *topicView) ref(p int32) partition.Ref {
	return partition.Ref{Topic: v.Name, ID: v.ID, Partition: p}
}

func (v *topicView) has(p int32) bool { return p >= 0 && p < v.Partitions }

// effectiveCache keeps the views of topics by name. A view counts as long as the topic handed out is the one it was
// made of.
type effectiveCache struct {
	mu     sync.RWMutex
	byName map[string]*topicView
}

// keepViews is how many views are kept at least; above that they go when they are twice as many as there are topics.
const keepViews = 128

// view returns t with its settings in force.
func (a *API) view(t *metadata.Topic) *topicView {
	a.effective.mu.RLock()
	v := a.effective.byName[t.Name]
	a.effective.mu.RUnlock()
	if v != nil && v.Topic == t {
		return v
	}
	v = &topicView{Topic: t, Effective: a.schema.Effective(t.Name, t.Configs)}
	if v.Compression != "producer" {
		// The schema accepts nothing that ParseCodec does not.
		if codec, err := batch.ParseCodec(v.Compression); err == nil {
			v.recompress, v.codec, v.level = true, codec, v.levelOf(codec)
		}
	}
	if codec, err := compress.Parse(v.StorageCompression); err == nil { // likewise
		v.values = partition.Values{Codec: codec, Dictionary: v.StorageDictionary}
	}
	a.effective.mu.Lock()
	defer a.effective.mu.Unlock()
	if n := len(a.effective.byName); a.effective.byName == nil || n >= keepViews && n > 2*len(a.topics.All()) {
		a.effective.byName = make(map[string]*topicView)
	}
	a.effective.byName[t.Name] = v
	return v
}

// segment says when the owner of a partition seals its open segment. Compacted topics keep one stream.
func (v *topicView) segment() partition.SegmentPolicy {
	if !v.Segmented || v.Compact {
		return partition.SegmentPolicy{}
	}
	return partition.SegmentPolicy{Bytes: v.SegmentBytes, Ms: v.SegmentMs}
}

func (v *topicView) levelOf(c batch.Codec) int {
	switch c {
	case batch.Gzip:
		return v.GzipLevel
	case batch.LZ4:
		return v.LZ4Level
	case batch.Zstd:
		return v.ZstdLevel
	}
	return batch.DefaultLevel
}
