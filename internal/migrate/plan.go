package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Plan is what a migration would do.
type Plan struct {
	Source     string            `json:"source"`
	Target     string            `json:"target"`
	Exists     bool              `json:"target_exists"`
	Partitions int32             `json:"target_partitions"`
	Configs    map[string]string `json:"target_configs"` // its own settings
	Changed    []string          `json:"changed"`        // names of those that are not the source's
	Read       bool              `json:"read"`           // whether the source was read: else records are estimates
	From       []SourcePlan      `json:"partitions"`
	Groups     []GroupPosition   `json:"groups"`
	Problems   []string          `json:"problems"` // what keeps the migration from being done
	Notes      []string          `json:"notes"`
}

// SourcePlan is a partition of the source.
type SourcePlan struct {
	Partition int32 `json:"partition"`
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
	Records   int64 `json:"records"` // where it was not read: offsets between start and end
	Bytes     int64 `json:"bytes"`   // of keys, values and headers; where it was not read, what the broker says it stores, or -1
}

// MakePlan tells what a migration would do. It changes nothing. With read it reads the whole source, to count records and
// to find those that the target would refuse.
func MakePlan(ctx context.Context, o Options, read bool) (*Plan, error) {
	m := &Migration{o: o}
	var err error
	if m.source, err = o.From.lookUp(ctx, o.Source); err != nil {
		return nil, err
	}
	p := &Plan{Source: o.Source, Target: o.Target, Read: read, Changed: []string{}, Problems: []string{}, Notes: []string{}}
	p.Partitions = m.wanted()
	values, err := p.target(ctx, m)
	if err != nil {
		return nil, err
	}
	if values["message.timestamp.type"] == logAppendTime && !o.AppendTime {
		p.Problems = append(p.Problems, "message.timestamp.type=LogAppendTime: all records would get the time of the migration; give another --config, or --allow-log-append-time")
	}
	if err := m.checkAppendHeader(ctx, values); err != nil {
		p.Problems = append(p.Problems, err.Error())
	}
	if int(p.Partitions) != len(m.source.leaders) {
		p.Notes = append(p.Notes, "the number of partitions changes: records go by their key, a key's order is kept, and groups read some records again")
	}
	if err := p.partitions(ctx, m, values); err != nil {
		return nil, err
	}
	if p.Groups, err = groupsOf(ctx, o.From, o.Source); err != nil {
		return nil, err
	}
	for _, g := range p.Groups {
		if g.Active() {
			p.Notes = append(p.Notes, fmt.Sprintf("group %s is %s: its members must stop before the cutover", g.Name, g.State))
		}
	}
	return p, nil
}

// target finds the settings that the target has or would get, and tells what speaks against it. It returns the source's
// effective settings as the target would change them.
func (p *Plan) target(ctx context.Context, m *Migration) (map[string]string, error) {
	if _, err := openJournal(ctx, m.o.To, m.o.Target); err == nil {
		p.Notes = append(p.Notes, "the migration has begun: --run goes on with it, --status tells how far it is")
	} else if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, err
	} else if err := m.checkFresh(ctx); err != nil {
		p.Problems = append(p.Problems, err.Error())
	}
	values, err := effective(ctx, m.o.From, m.source.name)
	if err != nil {
		return nil, err
	}
	t, err := m.o.To.lookUp(ctx, m.o.Target)
	if err == nil {
		p.Exists, p.Partitions = true, int32(len(t.leaders))
		if p.Configs, err = settings(ctx, m.o.To, t.name, true); err != nil {
			return nil, err
		}
		return effective(ctx, m.o.To, t.name)
	}
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, err
	}
	configs, unknown, err := m.targetConfigs(ctx)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("settings of the source that the target's cluster does not know are left out: %s", strings.Join(unknown, ", ")))
	}
	p.Configs = map[string]string{}
	for name, value := range configs {
		p.Configs[name] = *value
		if values[name] != *value {
			p.Changed = append(p.Changed, name)
		}
		values[name] = *value
	}
	slices.Sort(p.Changed)
	return values, nil
}

// partitions measures the source.
func (p *Plan) partitions(ctx context.Context, m *Migration, values map[string]string) error {
	starts, err := m.o.From.offsets(ctx, m.source, logStart)
	if err != nil {
		return err
	}
	ends, err := m.o.From.offsets(ctx, m.source, logEnd)
	if err != nil {
		return err
	}
	sizes := m.sizes(ctx)
	for n := range starts {
		one := SourcePlan{Partition: int32(n), Start: starts[n], End: ends[n], Records: ends[n] - starts[n], Bytes: sizes[n]}
		if p.Read {
			if err := p.scan(ctx, m, &one, values); err != nil {
				return err
			}
		}
		p.From = append(p.From, one)
	}
	return nil
}

// sizes are what brokers say that the partitions take.
func (m *Migration) sizes(ctx context.Context) []int64 {
	sizes := make([]int64, len(m.source.leaders))
	asked := kadm.TopicsSet{}
	for p := range sizes {
		asked.Add(m.source.name, int32(p))
	}
	described, err := m.o.From.Admin.DescribeAllLogDirs(ctx, asked)
	for p := range sizes {
		sizes[p] = -1
		if err != nil {
			continue // not every broker tells; it is an estimate only
		}
		described.Each(func(d kadm.DescribedLogDir) {
			d.Topics.Each(func(one kadm.DescribedLogDirPartition) {
				if one.Topic == m.source.name && int(one.Partition) == p {
					sizes[p] = max(sizes[p], one.Size)
				}
			})
		})
	}
	return sizes
}

// scan reads a partition and names records that the target would refuse.
func (p *Plan) scan(ctx context.Context, m *Migration, one *SourcePlan, values map[string]string) error {
	limit, err := strconv.Atoi(values["max.message.bytes"])
	if err != nil {
		return fmt.Errorf("read max.message.bytes: %w", err)
	}
	compacted := strings.Contains(values["cleanup.policy"], "compact")
	one.Records, one.Bytes = 0, 0
	for at := one.Start; at < one.End; {
		got, err := m.o.From.fetch(ctx, m.source, map[int32]int64{one.Partition: at}, 0)
		if err != nil {
			return err
		}
		f := got[one.Partition]
		for _, r := range f.records {
			if r.Offset >= one.End {
				break
			}
			one.Records++
			one.Bytes += size(r)
			if err := p.check(r, limit, compacted); err != nil {
				return err
			}
		}
		if f.next == at && len(f.records) == 0 {
			return nil
		}
		at = f.next
	}
	return nil
}

// mostNamed bounds how many problems are named.
const mostNamed = 100

func (p *Plan) check(r *kgo.Record, limit int, compacted bool) error {
	if compacted && r.Key == nil {
		p.refuse(fmt.Sprintf("%s-%d offset %d has no key, which a compacted topic refuses", r.Topic, r.Partition, r.Offset))
	}
	var b batchBuilder
	b.add(r, limit)
	if !b.lone {
		return nil
	}
	raw, err := b.encode(0, 0, 0)
	if err != nil {
		return err
	}
	if len(raw) > limit {
		p.refuse(fmt.Sprintf("%s-%d offset %d makes a batch of %d bytes, compressed, above max.message.bytes %d", r.Topic, r.Partition, r.Offset, len(raw), limit))
	}
	return nil
}

func (p *Plan) refuse(what string) {
	if len(p.Problems) < mostNamed {
		p.Problems = append(p.Problems, what)
	}
}

func size(r *kgo.Record) int64 {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return int64(n)
}
