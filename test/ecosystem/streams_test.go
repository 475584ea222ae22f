package ecosystem_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// wordCount is a Kafka Streams application, the counts that it has to have come to, and where its parts are.
type wordCount struct {
	*world
	classpath     string
	app           string
	input, output string
	random        *rand.Rand
	counts        map[string]int
	updates       int
}

func TestKafkaStreamsCountsEveryWordOnce(t *testing.T) {
	t.Parallel()
	w := newWordCount(t)
	first := w.run(filepath.Join(t.TempDir(), "first"))
	w.write(scaled(500))
	w.check()

	w.restart() // under the running application
	w.write(scaled(500))
	w.check()
	w.awaitCommitted(w.app, w.input)
	first.stop()

	// The second has no state of its own: it reads the counts back from the changelog.
	second := w.run(filepath.Join(t.TempDir(), "second"))
	w.write(scaled(500))
	w.check()

	// The third takes over a part of the counts while records come in.
	w.write(scaled(250))
	third := w.run(filepath.Join(t.TempDir(), "third"))
	w.awaitMembers(w.app, 2)
	w.write(scaled(250))
	w.check()
	w.checkInternalTopics()

	third.kill()
	w.write(scaled(250))
	w.checkAtLeast()
	second.stop()
}

func newWordCount(t *testing.T) *wordCount {
	t.Helper()
	w := &wordCount{world: newWorld(t), classpath: install(t, "kafka"), random: rand.New(rand.NewPCG(1, 2)), counts: map[string]int{}}
	w.app = w.prefix + "wordcount"
	w.input, w.output = w.createTopic("lines", 3), w.createTopic("counts", 3)
	return w
}

// run starts an instance of the application.
func (w *wordCount) run(state string) *child {
	w.t.Helper()
	args := append(jvm("256m"), "-cp", w.classpath, "WordCount", w.broker.Addr, w.app, state, w.input, w.output)
	return start(w.t, "word count "+filepath.Base(state), "java", args...)
}

// write appends so many lines of five words, some of them frequent, and notes what they add to the counts.
func (w *wordCount) write(lines int) {
	w.t.Helper()
	var records []*kgo.Record
	for i := range lines {
		words := make([]string, 5)
		for j := range words {
			words[j] = fmt.Sprintf("word%d", w.random.IntN(1+w.random.IntN(200)))
			w.counts[words[j]]++
			w.updates++
		}
		records = append(records, &kgo.Record{Topic: w.input, Partition: int32(i % 3), Value: []byte(strings.Join(words, " "))})
	}
	w.produce(records...)
}

// check waits for all updates and compares them: the counts of a word come out as 1, 2, 3 ... to the number of times it was written.
func (w *wordCount) check() {
	w.t.Helper()
	got := map[string]int{}
	for _, r := range w.read(w.output, w.updates) {
		word := string(r.Key)
		got[word]++
		if string(r.Value) != strconv.Itoa(got[word]) {
			w.t.Fatalf("update %d of %s is %s", got[word], word, r.Value)
		}
	}
	if !maps.Equal(got, w.counts) {
		w.t.Fatalf("counts differ:\ngot  %v\nwant %v", got, w.counts)
	}
}

// checkAtLeast waits until everything has been counted after an instance was killed. What it had counted and not committed may be counted twice:
// this is what at-least-once means.
func (w *wordCount) checkAtLeast() {
	w.t.Helper()
	w.awaitCommitted(w.app, w.input)
	w.awaitCommitted(w.app, w.app+"-words-repartition")
	starts, ends := w.bounds(w.output)
	last := map[string]int{}
	for _, r := range w.readTo(starts, ends) {
		n, err := strconv.Atoi(string(r.Value))
		if err != nil {
			w.t.Fatalf("count of %s: %v", r.Key, err)
		}
		last[string(r.Key)] = n
	}
	for word, n := range w.counts {
		if last[word] < n {
			w.t.Errorf("%s was counted %d times, it was written %d times", word, last[word], n)
		}
	}
}

// checkInternalTopics looks at the topics that the application made for itself.
func (w *wordCount) checkInternalTopics() {
	w.t.Helper()
	repartition, changelog := w.app+"-words-repartition", w.app+"-counts-changelog"
	if got := w.policy(repartition); got != "delete 3" {
		w.t.Errorf("repartition topic: %s", got)
	}
	if got := w.policy(changelog); got != "compact 3" {
		w.t.Errorf("changelog: %s", got)
	}
	last := map[string]int{}
	starts, ends := w.bounds(changelog)
	for _, r := range w.readTo(starts, ends) {
		last[string(r.Key)] = int(binary.BigEndian.Uint64(r.Value))
	}
	if !maps.Equal(last, w.counts) {
		w.t.Errorf("changelog differs:\ngot  %v\nwant %v", last, w.counts)
	}
	w.await("records of the repartition topic to be deleted when they are counted", func() error {
		starts, _ := w.bounds(repartition)
		var err error
		starts.Each(func(start kadm.ListedOffset) {
			if start.Offset == 0 {
				err = fmt.Errorf("partition %d begins at 0", start.Partition)
			}
		})
		return err
	})
}
