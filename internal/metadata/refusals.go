package metadata

import (
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

// Why a Redis that answers takes no writes. Nothing was changed.
var (
	ErrFull     = errors.New("redis is full (maxmemory): nothing was changed; make room by retention or deletions, or raise maxmemory")
	ErrNotSaved = errors.New("redis cannot save its data to disk (MISCONF) and refuses writes: nothing was changed; its log says why")
)

// Refusal is ErrFull or ErrNotSaved where err is such an answer of Redis, to a command or out of a script that had written
// nothing before; else nil.
func Refusal(err error) error {
	answer, ok := rueidis.IsRedisErr(err)
	if !ok {
		return nil
	}
	text := answer.Error()
	for code, kind := range map[string]error{"OOM": ErrFull, "MISCONF": ErrNotSaved} {
		if strings.HasPrefix(text, code+" ") || strings.Contains(text, "-"+code+" ") { // Redis 6.2 quotes a script's errors
			return kind
		}
	}
	return nil
}

// Refused tells whether an error is ErrFull or ErrNotSaved.
func Refused(err error) bool { return errors.Is(err, ErrFull) || errors.Is(err, ErrNotSaved) }
