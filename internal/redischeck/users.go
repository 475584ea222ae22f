package redischeck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// User is one that can log in.
type User struct {
	Name       string
	NoPassword bool
	MayAppend  bool // whether it may XADD to a topic's stream
}

// readUsers asks who may write to the streams. Redis 7 and later tries a command as any user; of 6.2 only those are known
// that may do everything with every key.
func (f *Facts) readUsers(ctx context.Context, client rueidis.Client, namespace string) error {
	var err error
	if f.Self, f.UsersErr, err = ask(ctx, client, client.B().AclWhoami().Build()); err != nil || f.UsersErr != nil {
		return err
	}
	rules, err := client.Do(ctx, client.B().AclList().Build()).AsStrSlice()
	if f.UsersErr, err = refusal(err); err != nil || f.UsersErr != nil {
		return err
	}
	for _, rule := range rules {
		words := strings.Fields(rule)
		if len(words) < 3 || words[0] != "user" || !slices.Contains(words, "on") {
			continue
		}
		u := User{Name: words[1], NoPassword: slices.Contains(words, "nopass"), MayAppend: slices.Contains(words, "~*") && slices.Contains(words, "+@all")}
		trial := client.B().Arbitrary("ACL", "DRYRUN", u.Name, "XADD", namespace+":storage:local:topic:0", "*", "value", "x").Build()
		answer, refused, err := ask(ctx, client, trial)
		if err != nil {
			return err
		}
		if refused == nil {
			u.MayAppend = answer == "OK"
		}
		f.Users = append(f.Users, u)
	}
	return nil
}

// users tells who else may write to the streams.
func users(f Facts, u Use) []Finding {
	why := "an XADD of a stranger takes the offset that a record was to get; whoever may write may also delete"
	cure := "give korvet a user of its own and others their own keys: the rules are in docs/redis.md"
	if !u.Messages {
		return nil
	}
	if f.UsersErr != nil {
		return one(Finding{Check: "users", Level: OK, Seen: "cannot see who else may write: ACL is refused (" + f.UsersErr.Error() + ")"})
	}
	var others []string
	for _, other := range f.Users {
		switch {
		case other.Name == f.Self && other.NoPassword:
			return one(Finding{Check: "users", Level: Warning, Seen: fmt.Sprintf("user %s needs no password: whoever reaches this Redis may write to %s:*", other.Name, u.Namespace), Why: why, Cure: cure})
		case other.Name != f.Self && other.MayAppend:
			others = append(others, other.Name)
		}
	}
	if len(others) > 0 {
		return one(Finding{Check: "users", Level: Warning, Seen: fmt.Sprintf("beside %s may write to %s:*: %s", f.Self, u.Namespace, strings.Join(others, ", ")), Why: why, Cure: cure})
	}
	return one(Finding{Check: "users", Level: OK, Seen: fmt.Sprintf("only user %s may write to %s:*", f.Self, u.Namespace)})
}
