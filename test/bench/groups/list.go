package groups

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AwaitList returns when a broker lists at least so many groups. It may be only starting.
func AwaitList(ctx context.Context, address string, groups int) error {
	var last error
	for {
		n, err := listed(ctx, address)
		if err == nil && n >= groups {
			return nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("%d groups where %d are due", n, groups)
		}
		if !pause(ctx, 2*time.Millisecond) {
			return fmt.Errorf("list groups: %w", last)
		}
	}
}

func listed(ctx context.Context, address string) (int, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return 0, err
	}
	defer c.close()
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = 4
	resp, err := ask[*kmsg.ListGroupsResponse](c, req)
	if err != nil {
		return 0, err
	}
	return len(resp.Groups), refusal("list groups", resp.ErrorCode)
}
