package documents

import (
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// Every command of docs/tiered-storage.md's walk answers, and what the page says of its answer is in it.
func TestEveryCommandOfTheTieredStoragePageShowsWhatItSays(t *testing.T) {
	t.Setenv("KORVET_STORAGE_REMOTE_PATH", "file://"+t.TempDir())
	b := harness.Start(t, harness.Options{Own: true, Args: []string{"--korvet.storage.worker.tick-interval=1s", "--korvet.storage.worker.lease-duration=5s"}})
	run, page := runner(t, b), read(t, "../../docs/tiered-storage.md")
	begin(t, page, run)
	try(t, page, 8, run)
}
