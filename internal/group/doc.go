// Package group is the state machine of one consumer group: the classic protocol (JoinGroup, SyncGroup) and the consumer
// protocol of KIP-848, and the way from one to the other.
//
// It is pure: events in, effects out. It does no I/O, reads no clock and draws no random numbers; time comes with each
// event, ids come from Settings. A Group is not safe for concurrent use: package coordinator holds one lock per group.
//
// # Effects
//
// A method that may have to wait takes a Ticket. Its answer is in the Effects of that call or of a later one, exactly once
// for each ticket. Effects.Save says what of the group must be stored, and the answers of the same Effects must not be
// given before it is (nor those of any later call). When storing fails the Group is thrown away, its open tickets are
// answered with ErrCoordinatorUnavailable, and a new one is restored from what is stored: the machine has no way back.
package group
