package redisstream

import "testing"

func TestPagesComeToTheirSize(t *testing.T) {
	for _, c := range []struct {
		page        Page
		count, want int
	}{
		{Page{Entries: 8, Bytes: 800}, 8, 16},                 // small ones, little by little
		{Page{Entries: 16, Bytes: 16 * PageBytes / 4}, 16, 4}, // large ones at once
		{Page{Entries: 1, Bytes: 10 * PageBytes}, 1, 1},       // one is asked for at least
		{Page{}, 5, 5},
	} {
		if got := c.page.Next(c.count); got != c.want {
			t.Errorf("after %d entries of %d bytes in all %d are asked for, want %d", c.page.Entries, c.page.Bytes, got, c.want)
		}
	}
}
