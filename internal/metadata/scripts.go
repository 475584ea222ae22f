package metadata

import (
	_ "embed"

	"github.com/redis/rueidis"
)

//go:embed scripts/layout.lua
var layoutLua string

//go:embed scripts/topic_look.lua
var topicLookLua string

//go:embed scripts/topic_create.lua
var topicCreateLua string

//go:embed scripts/topic_alter.lua
var topicAlterLua string

//go:embed scripts/topic_restore.lua
var topicRestoreLua string

//go:embed scripts/topic_remove.lua
var topicRemoveLua string

//go:embed scripts/deletion_list.lua
var deletionListLua string

//go:embed scripts/config_alter.lua
var configAlterLua string

//go:embed scripts/node_look.lua
var nodeLookLua string

//go:embed scripts/node_heartbeat.lua
var nodeHeartbeatLua string

//go:embed scripts/node_leave.lua
var nodeLeaveLua string

//go:embed scripts/table_reserve.lua
var tableReserveLua string

//go:embed scripts/table_cover.lua
var tableCoverLua string

//go:embed scripts/table_drop.lua
var tableDropLua string

//go:embed scripts/table_forget.lua
var tableForgetLua string

// scripts are run by their SHA and sent whole when Redis does not know them. Each has one key, so that all its keys are
// in one slot.
type scripts struct {
	layout, topicLook, topicCreate, topicAlter, topicRestore, topicRemove, deletionList, configAlter, nodeLook, nodeHeartbeat, nodeLeave *rueidis.Lua
	tableReserve, tableCover, tableDrop, tableForget                                                                                     *rueidis.Lua
}

func newScripts() scripts {
	return scripts{
		layout:        rueidis.NewLuaScript(layoutLua),
		topicLook:     rueidis.NewLuaScript(topicLookLua),
		topicCreate:   rueidis.NewLuaScript(topicCreateLua),
		topicAlter:    rueidis.NewLuaScript(topicAlterLua),
		topicRestore:  rueidis.NewLuaScript(topicRestoreLua),
		topicRemove:   rueidis.NewLuaScript(topicRemoveLua),
		deletionList:  rueidis.NewLuaScript(deletionListLua),
		configAlter:   rueidis.NewLuaScript(configAlterLua),
		nodeLook:      rueidis.NewLuaScript(nodeLookLua),
		nodeHeartbeat: rueidis.NewLuaScript(nodeHeartbeatLua),
		nodeLeave:     rueidis.NewLuaScript(nodeLeaveLua),
		tableReserve:  rueidis.NewLuaScript(tableReserveLua),
		tableCover:    rueidis.NewLuaScript(tableCoverLua),
		tableDrop:     rueidis.NewLuaScript(tableDropLua),
		tableForget:   rueidis.NewLuaScript(tableForgetLua),
	}
}
