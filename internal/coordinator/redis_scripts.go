package coordinator

import (
	_ "embed"

	"github.com/redis/rueidis"
)

//go:embed scripts/claim_commits.lua
var claimCommitsLua string

//go:embed scripts/claim_group.lua
var claimGroupLua string

//go:embed scripts/write.lua
var writeLua string

//go:embed scripts/delete.lua
var deleteLua string

// scripts are run by their SHA and sent whole when Redis does not know them. Each has one key: a group's two keys may be
// in different slots.
type scripts struct{ claimCommits, claimGroup, write, remove *rueidis.Lua }

func newScripts() scripts {
	return scripts{
		claimCommits: rueidis.NewLuaScript(claimCommitsLua),
		claimGroup:   rueidis.NewLuaScript(claimGroupLua),
		write:        rueidis.NewLuaScript(writeLua),
		remove:       rueidis.NewLuaScript(deleteLua),
	}
}
