package copying

import (
	"context"
	"time"
)

// RateStep is rateStep.
const RateStep = rateStep

// SetClock replaces the copier's clock, and how it waits.
func (c *Copier) SetClock(now func() time.Time, wait func(ctx context.Context, d time.Duration) error) {
	c.now, c.wait = now, wait
}
