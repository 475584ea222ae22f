package group

import "errors"

// The error kinds of groups; package api gives each its Kafka code.
var (
	ErrUnknownMember        = errors.New("unknown member id")
	ErrIllegalGeneration    = errors.New("generation is not the group's")
	ErrRebalanceInProgress  = errors.New("the group is rebalancing: join again")
	ErrInconsistentProtocol = errors.New("protocols are inconsistent with the group's")
	ErrFencedInstance       = errors.New("the instance id is another member's by now")
	ErrMemberIDRequired     = errors.New("join again with the member id")
	ErrInvalidSession       = errors.New("session timeout out of bounds")
	ErrInvalidGroupID       = errors.New("invalid group id")
	ErrGroupFull            = errors.New("the group has its largest size")
	ErrNonEmpty             = errors.New("the group has members")
	ErrNotFound             = errors.New("no such group")
	ErrSubscribed           = errors.New("the group is subscribed to the topic")
	// Of the consumer protocol (KIP-848).
	ErrInvalidRequest       = errors.New("invalid request")
	ErrFencedMemberEpoch    = errors.New("member epoch is not the member's")
	ErrStaleMemberEpoch     = errors.New("member epoch is old")
	ErrUnreleasedInstance   = errors.New("the instance id is still another member's")
	ErrUnsupportedAssignor  = errors.New("unsupported assignor")
	ErrInvalidRegexp        = errors.New("invalid regular expression")
	ErrUnsupportedVersion   = errors.New("the request's version cannot serve this group")
	ErrMetadataTooLarge     = errors.New("metadata too large")
	ErrUnsupportedMigration = errors.New("the group cannot change its protocol")
	// Of the coordinator.
	ErrNotCoordinator         = errors.New("another broker coordinates the group")
	ErrCoordinatorUnavailable = errors.New("the group cannot be stored or read")
	ErrLoading                = errors.New("the group is being loaded")
)
