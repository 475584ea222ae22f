package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// DictionaryUse is what a partition's records say of its zstd dictionaries.
type DictionaryUse struct {
	Token string // of the fence whose appends said so
	// From tells of each dictionary that the partition holds from which offset on it was used last. One is missing of which
	// nothing was noted.
	From map[uint32]int64
}

// dictionaryPage is how many dictionaries one command asks about.
const dictionaryPage = 500

// DictionaryUse looks at a partition's dictionaries; their blobs stay where they are.
func (s *Shard) DictionaryUse(ctx context.Context, keys Keys) (DictionaryUse, error) {
	use, err := s.dictionaryUse(ctx, keys)
	if err != nil {
		return use, fmt.Errorf("read use of dictionaries: %w", err)
	}
	return use, nil
}

func (s *Shard) dictionaryUse(ctx context.Context, keys Keys) (DictionaryUse, error) {
	request := resp.AppendCommand(nil, "HGET", keys.Leader, "token")
	request = resp.AppendCommand(request, "HKEYS", keys.Dictionaries)
	replies := make([]resp.Value, 2)
	if err := s.readAll(ctx, request, replies); err != nil {
		return DictionaryUse{}, err
	}
	if err := errors.Join(replies[0].Err(), replies[1].Err()); err != nil {
		return DictionaryUse{}, err
	}
	use := DictionaryUse{Token: replies[0].Str, From: map[uint32]int64{}}
	for page := range slices.Chunk(dictionaryIDs(replies[1]), dictionaryPage) {
		if err := s.usedFrom(ctx, keys.State(use.Token), page, use.From); err != nil {
			return use, err
		}
	}
	return use, nil
}

// usedFrom reads what a state hash notes of some dictionaries.
func (s *Shard) usedFrom(ctx context.Context, state string, ids []uint32, from map[uint32]int64) error {
	request := resp.AppendArray(nil, 2+len(ids))
	request = resp.AppendBulk(request, "HMGET")
	request = resp.AppendBulk(request, state)
	for _, id := range ids {
		request = resp.AppendBulk(request, usedField+strconv.FormatUint(uint64(id), 10))
	}
	v, err := s.reads.value(ctx, request)
	if err != nil {
		return err
	}
	if len(v.Elems) != len(ids) {
		return resp.ErrProtocol
	}
	for i, e := range v.Elems {
		if offset, err := strconv.ParseInt(e.Str, 10, 64); err == nil && offset >= 0 && !e.Null {
			from[ids[i]] = offset
		}
	}
	return nil
}

// dictionaryIDs are the fields of a hash of dictionaries that are ids.
func dictionaryIDs(v resp.Value) []uint32 {
	var ids []uint32
	for _, e := range v.Elems {
		if id, err := strconv.ParseUint(e.Str, 10, 32); err == nil && id > 0 {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// DictionaryDrop names dictionaries of a partition that no record needs any more.
type DictionaryDrop struct {
	Token string   // as DictionaryUse gave it
	Below int64    // no record below this offset is left, nor is the log start below it
	Since uint32   // a dictionary that was used from Below or an earlier offset on
	IDs   []uint32 // used from an earlier offset on than that one: at most DictionaryStep
}

// DictionaryStep is how many dictionaries one command drops: some 32 KiB each.
const DictionaryStep = 32

// DropDictionaries removes dictionaries from a partition's copy, those only of which all that is said still holds. It tells
// how many went.
func (s *Shard) DropDictionaries(ctx context.Context, keys Keys, c Claim, d DictionaryDrop) (int64, error) {
	args := []string{d.Token, strconv.FormatInt(d.Below, 10), strconv.FormatUint(uint64(d.Since), 10)}
	args = appendIDs(args, d.IDs)
	word, rest, err := s.act(ctx, dictionaryDropScript, keys, c, []string{keys.State(d.Token), keys.Dictionaries}, args)
	if err != nil {
		return 0, fmt.Errorf("drop dictionaries: %w", err)
	}
	if word != "OK" || len(rest) != 1 {
		return 0, nil
	}
	return rest[0].Int, nil
}

func appendIDs(args []string, ids []uint32) []string {
	for _, id := range ids {
		args = append(args, strconv.FormatUint(uint64(id), 10))
	}
	return args
}

// CountDictionaries tells how many fields the hash of each topic's life has, some more than dictionaries; the answers are in
// the keys' order.
func (s *Shard) CountDictionaries(ctx context.Context, keys []DictionaryKeys) ([]int64, error) {
	counts := make([]int64, 0, len(keys))
	for page := range slices.Chunk(keys, glancePage) {
		var request []byte
		for _, k := range page {
			request = resp.AppendCommand(request, "HLEN", k.All)
		}
		replies := make([]resp.Value, len(page))
		if err := s.readAll(ctx, request, replies); err != nil {
			return nil, fmt.Errorf("count dictionaries: %w", err)
		}
		for _, v := range replies {
			counts = append(counts, v.Int) // of one that is no hash there are none
		}
	}
	return counts, nil
}

// UnheldDictionaries lists the dictionaries of a topic's life that none of its partitions holds, without the newest one.
func (s *Shard) UnheldDictionaries(ctx context.Context, keys DictionaryKeys, partitions []Keys) ([]uint32, error) {
	// The topic's first: what is published meanwhile is newer.
	all, err := s.reads.value(ctx, resp.AppendCommand(nil, "HKEYS", keys.All))
	if err != nil {
		return nil, fmt.Errorf("list dictionaries: %w", err)
	}
	newest, err := s.NewestDictionaries(ctx, []DictionaryKeys{keys})
	if err != nil {
		return nil, err
	}
	held := map[uint32]bool{newest[0].ID: true}
	for page := range slices.Chunk(partitions, glancePage) {
		if err := s.heldDictionaries(ctx, page, held); err != nil {
			return nil, fmt.Errorf("list dictionaries of partitions: %w", err)
		}
	}
	var unheld []uint32
	for _, id := range dictionaryIDs(all) {
		if !held[id] {
			unheld = append(unheld, id)
		}
	}
	return unheld, nil
}

func (s *Shard) heldDictionaries(ctx context.Context, partitions []Keys, held map[uint32]bool) error {
	var request []byte
	for _, k := range partitions {
		request = resp.AppendCommand(request, "HKEYS", k.Dictionaries)
	}
	replies := make([]resp.Value, len(partitions))
	if err := s.readAll(ctx, request, replies); err != nil {
		return err
	}
	for _, v := range replies {
		if err := v.Err(); err != nil {
			return err
		}
		for _, id := range dictionaryIDs(v) {
			held[id] = true
		}
	}
	return nil
}

// ForgetDictionaries removes dictionaries, at most DictionaryStep, of a topic's life but for the newest. It tells how many
// went. ErrFenced: a worker with a higher fence number was here.
func (s *Shard) ForgetDictionaries(ctx context.Context, keys DictionaryKeys, fence int64, ids []uint32) (int64, error) {
	v, err := s.script(ctx, dictionaryForgetScript, []string{keys.All}, appendIDs([]string{strconv.FormatInt(fence, 10)}, ids))
	if err != nil {
		return 0, scriptError("forget dictionaries", err)
	}
	switch {
	case len(v.Elems) == 1 && v.Elems[0].Str == "FENCED":
		return 0, fmt.Errorf("forget dictionaries: %w", ErrFenced)
	case len(v.Elems) != 2:
		return 0, scriptError("forget dictionaries", nil)
	}
	return v.Elems[1].Int, nil
}
