package redisstream

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by SHA-1
	_ "embed"
	"encoding/hex"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

//go:embed fence.lua
var fenceLua string

//go:embed release.lua
var releaseLua string

//go:embed delete.lua
var deleteLua string

//go:embed roll.lua
var rollLua string

//go:embed times.lua
var timesLua string

//go:embed trim.lua
var trimLua string

//go:embed dictionary.lua
var dictionaryLua string

//go:embed undictionary.lua
var undictionaryLua string

//go:embed dictionary_drop.lua
var dictionaryDropLua string

//go:embed dictionary_forget.lua
var dictionaryForgetLua string

//go:embed seek.lua
var seekLua string

//go:embed mirror.lua
var mirrorLua string

//go:embed unmirror.lua
var unmirrorLua string

//go:embed lease.lua
var leaseLua string

//go:embed guard.lua
var guardLua string

//go:embed epochs.lua
var epochsLua string

//go:embed start.lua
var startLua string

//go:embed drop.lua
var dropLua string

//go:embed tiered.lua
var tieredLua string

//go:embed tiered_back.lua
var tieredBackLua string

//go:embed untier.lua
var untierLua string

//go:embed head.lua
var headLua string

//go:embed shrunk.lua
var shrunkLua string

//go:embed compact_remove.lua
var compactRemoveLua string

//go:embed compact_note.lua
var compactNoteLua string

//go:embed compact_settle.lua
var compactSettleLua string

//go:embed compact_copy.lua
var compactCopyLua string

//go:embed outbox_queue.lua
var outboxQueueLua string

//go:embed restore.lua
var restoreLua string

//go:embed restore_lease.lua
var restoreLeaseLua string

//go:embed uncopy.lua
var uncopyLua string

// script is a Lua script and the name Redis caches it under.
type script struct{ text, sha string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return script{text, hex.EncodeToString(sum[:])}
}

var (
	fenceScript      = newScript(fenceLua)
	releaseScript    = newScript(releaseLua)
	deleteScript     = newScript(deleteLua)
	rollScript       = newScript(rollLua)
	timesScript      = newScript(timesLua)
	trimScript       = newScript(trimLua)
	seekScript       = newScript(seekLua)
	mirrorScript     = newScript(mirrorLua)
	unmirrorScript   = newScript(unmirrorLua)
	leaseScript      = newScript(leaseLua)
	startScript      = newScript(guardLua + epochsLua + startLua)
	dropScript       = newScript(guardLua + dropLua)
	tieredScript     = newScript(guardLua + tieredLua)
	tieredBackScript = newScript(guardLua + tieredBackLua)
	untierScript     = newScript(guardLua + epochsLua + untierLua)
	headScript       = newScript(guardLua + headLua)
	shrunkScript     = newScript(guardLua + shrunkLua)
	zdictScript      = newScript(dictionaryLua)
	unzdictScript    = newScript(undictionaryLua)

	compactRemoveScript = newScript(guardLua + compactRemoveLua)
	compactNoteScript   = newScript(guardLua + compactNoteLua)
	compactSettleScript = newScript(guardLua + compactSettleLua)
	compactCopyScript   = newScript(guardLua + compactCopyLua)
	uncopyScript        = newScript(guardLua + uncopyLua)

	restoreScript      = newScript(restoreLua)
	restoreLeaseScript = newScript(restoreLeaseLua)
	outboxScript       = newScript(outboxQueueLua)

	dictionaryDropScript   = newScript(guardLua + dictionaryDropLua)
	dictionaryForgetScript = newScript(dictionaryForgetLua)
)

func (s script) command(verb, body string, keys, args []string) []byte {
	b := resp.AppendArray(nil, 3+len(keys)+len(args))
	b = resp.AppendBulk(b, verb)
	b = resp.AppendBulk(b, body)
	b = resp.AppendBulk(b, strconv.Itoa(len(keys)))
	for _, k := range keys {
		b = resp.AppendBulk(b, k)
	}
	for _, a := range args {
		b = resp.AppendBulk(b, a)
	}
	return b
}

// run calls the script on c; a server that does not have it is sent its text. done is called exactly once.
func (s script) run(c Conn, keys, args []string, done func(resp.Value, error)) {
	send(c, s.command("EVALSHA", s.sha, keys, args), func(v resp.Value, err error) {
		if e, ok := v.Err().(resp.Error); err == nil && ok && e.Code() == "NOSCRIPT" {
			send(c, s.command("EVAL", s.text, keys, args), done)
			return
		}
		done(v, err)
	})
}

// FenceScript is the fence's name in Redis's script cache and its text, for tests that look at what is sent.
func FenceScript() (name, text string) { return fenceScript.sha, fenceScript.text }
