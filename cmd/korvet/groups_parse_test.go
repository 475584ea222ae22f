package main

import (
	"testing"
	"time"
)

func TestDatetimesAreUTCUnlessTheyHaveAZone(t *testing.T) {
	eight := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC).UnixMilli()
	for text, want := range map[string]int64{
		"2026-01-31T08:00:00.000":       eight,
		"2026-01-31T08:00:00":           eight,
		"2026-01-31T08:00:00.123":       eight + 123,
		"2026-01-31T08:00:00.000Z":      eight,
		"2026-01-31T09:00:00.000+01":    eight,
		"2026-01-31T09:00:00.000+0100":  eight,
		"2026-01-31T13:30:00.000+05:30": eight,
		"2026-01-31T00:00:00-08:00":     eight,
		"1960-01-01T00:00:00.000":       0,
	} {
		if got, err := parseDatetime(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2026-01-31", "2026-01-31T08:00", "2026-01-31 08:00:00", "2026-01-31T08:00:00.5", "2026-13-31T08:00:00.000", "2026-02-30T08:00:00.000", "2026-01-31T08:00:00.000 CET", "1780000000000"} {
		if got, err := parseDatetime(text); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

func TestPeriodsAreOfDaysToSeconds(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"P1D": day, "PT1H30M": 90 * time.Minute, "P2DT3H4M5.5S": 2*day + 3*time.Hour + 4*time.Minute + 5500*time.Millisecond, "pt10s": 10 * time.Second, "PT0S": 0, "P100000D": 100000 * day,
	} {
		if got, err := parsePeriod(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "1h", "P1H", "P1M", "P1Y", "-PT1H", "PT1M1H", "P100001D", "P100000DT1S", "P99999999999999999999D", "PT9999999999999H", "PT1.5H"} {
		if got, err := parsePeriod(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
