package tiered

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/redistest"
)

const earliestPending = -6 // of ListOffsets (KIP-1023)

// noCache has consumers read what Redis and the table have.
const noCache = "--korvet.broker.tail-cache-bytes=1KB"

func TestConsumersNoticeNoBoundaryWhileRecordsMove(t *testing.T) {
	w := start(t, places["file"](t), noCache)
	w.create("moving", 1, tiered())
	const records = 8000 // about eight segments
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		all.Go(func() {
			for over := false; !over && !t.Failed(); {
				select {
				case <-done:
					over = true // once more, with everything there
				default:
				}
				w.consume("moving", 0, 0, w.offset("moving", 0, -1))
			}
		})
	}
	for from := int64(0); from < records; from += 1000 {
		w.produce("moving", 0, from, from+1000)
	}
	w.awaitDropped("moving", 0, records/2)
	close(done)
	all.Wait()
	local, last, pending := w.offset("moving", 0, earliestLocal), w.offset("moving", 0, latestTiered), w.offset("moving", 0, earliestPending)
	if last < local-1 || pending <= last || pending > records {
		t.Errorf("Redis begins at %d, the last tiered is %d, the first that is not %d", local, last, pending)
	}
	for _, o := range []int64{0, 1, local - 1, local, local + 1, last, pending, records - 1} {
		if got := w.offset("moving", 0, 1_700_000_000_000+o); got != o {
			t.Errorf("the time of %d is that of %d", o, got)
		}
	}
	if got := w.offset("moving", 0, 1_800_000_000_000); got != -1 {
		t.Errorf("a time to come is that of %d", got)
	}
}

func TestADamagedDataFileIsOnePartitionsTrouble(t *testing.T) {
	t.Parallel()
	for how, spoil := range map[string]func(name string) error{
		"overwritten": func(name string) error {
			return os.WriteFile(name, []byte("this was a data file once upon a time"), 0o644)
		},
		"in its middle": func(name string) error {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for i := len(data) / 10; i < len(data)*9/10; i++ {
				data[i] ^= 0x55
			}
			return os.WriteFile(name, data, 0o644)
		},
		"deleted": os.Remove,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := start(t, places["file"](t), noCache)
			w.create("damaged", 2, tiered())
			for p := range int32(2) {
				w.produce("damaged", p, 0, 3000)
				w.awaitDropped("damaged", p, 1000)
			}
			spoilt := ""
			err := filepath.WalkDir(w.place.folder, func(name string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(name, ".parquet") && strings.Contains(name, "partition=0") {
					spoilt, err = cmp.Or(spoilt, filepath.Base(name)), spoil(name) // of offset 0 comes first
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			redistest.Eventually(t, "the damage to be told", func() bool {
				return errors.Is(w.fetched("damaged", 0, 0), kerr.KafkaStorageError)
			})
			w.consume("damaged", 1, 0, 3000)
			if local := w.offset("damaged", 0, earliestLocal); local < 3000 {
				w.consume("damaged", 0, local, 3000)
			}
			told := regexp.MustCompile("(?m)^.*records of the remote tier cannot be read.*$").FindAllString(w.Logs(), -1)
			if len(told) != 1 || !strings.Contains(told[0], spoilt) {
				t.Errorf("%s is damaged; the log says %q", spoilt, told)
			}
		})
	}
}
