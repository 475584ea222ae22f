package api

// GroupSettings are the broker's settings that the group APIs depend on; those of the groups themselves are the
// coordinator's.
type GroupSettings struct {
	// OffsetMetadataMax bounds the text that goes with a committed offset, in characters (offset.metadata.max.bytes).
	OffsetMetadataMax int
	// MaxMemberMetadataBytes bounds what a member's protocols or subscription take, since they are kept as long as it is.
	MaxMemberMetadataBytes int
}

// DefaultGroupSettings returns the defaults.
func DefaultGroupSettings() GroupSettings {
	return GroupSettings{OffsetMetadataMax: 4096, MaxMemberMetadataBytes: 1 << 20}
}
