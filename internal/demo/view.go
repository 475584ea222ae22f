package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Places are what a viewer may want to connect to.
type Places struct {
	Kafka, HTTP, Redis string // host:port
	RedisPort          string // of Redis, for redis-cli
	Namespace          string
	Catalog            string // URL of the Iceberg REST catalog; "": there is no remote tier
	Program            string // how korvet was called
}

// Sample is what the view shows of one moment.
type Sample struct {
	Elapsed      time.Duration
	InRate       float64 // records a second
	OutRate      float64
	In, Out      int64 // since the start
	Failed       int64
	P50, P99     time.Duration // of acknowledgements, over the last samples
	RedisMemory  int64         // bytes; -1: Redis does not answer
	Partitions   []Partition
	GroupState   string // of Group, as Kafka names it
	Tier         Tier
	LastEvent    string
	LastProblem  string
	ratesHistory []float64
}

// Partition is where one partition's log begins and ends, and how far the group is in it.
type Partition struct {
	Start, End int64
	Committed  int64
	Reader     int // number of the member that reads it; 0: none
}

// lag is what the group has not committed yet.
func (p Partition) lag() int64 { return max(0, p.End-max(p.Committed, p.Start)) }

// lines renders a sample for a terminal of so many rows.
func lines(p Places, s Sample, rows int) []string {
	top := []string{
		fmt.Sprintf("korvet demo  kafka %s  http %s  redis %s", p.Kafka, p.HTTP, p.Redis),
		"",
		fmt.Sprintf("  in     %10s records/s   %14s records   %s", grouped(int64(s.InRate+0.5)), grouped(s.In), sparkline(s.ratesHistory)),
		fmt.Sprintf("  out    %10s records/s   %14s records", grouped(int64(s.OutRate+0.5)), grouped(s.Out)),
		fmt.Sprintf("  acknowledged  p50 %-9s p99 %-9s redis memory  %s", latency(s.P50), latency(s.P99), memory(s.RedisMemory)),
		"  " + s.LastEvent,
		"",
		fmt.Sprintf("  group %s  %s", Group, s.GroupState),
		fmt.Sprintf("  %-9s %11s %11s %11s %10s  %s", "partition", "log start", "log end", "committed", "lag", "read by"),
	}
	for i, one := range s.Partitions {
		reader := "-"
		if one.Reader > 0 {
			reader = instances + strconv.Itoa(one.Reader)
		}
		top = append(top, fmt.Sprintf("  %-9s %11s %11s %11s %10s  %s", Topic+"-"+strconv.Itoa(i),
			grouped(one.Start), grouped(one.End), grouped(one.Committed), grouped(one.lag()), reader))
	}
	top = append(top, "")
	bottom := append(p.hints(rows-len(top)-tierLines), "  Ctrl-C stops everything")
	if s.Failed > 0 || s.LastProblem != "" {
		bottom = append(bottom, fmt.Sprintf("  %s records failed: %s", grouped(s.Failed), s.LastProblem))
	}
	return slices.Concat(top, s.Tier.lines(rows-len(top)-len(bottom)), bottom)
}

// SQL is what one types into DuckDB to query the topic's table.
func (p Places) SQL() []string {
	return []string{
		"INSTALL iceberg; LOAD iceberg;",
		"ATTACH '' AS k (TYPE iceberg, AUTHORIZATION_TYPE 'none',",
		"  ENDPOINT '" + p.Catalog + "');",
		fmt.Sprintf("SELECT type, country, count(*) FROM k.%s.%s GROUP BY ALL;", p.Namespace, Topic),
	}
}

// hints are what a viewer may want to type, as many as there is room for beside a last line.
func (p Places) hints(room int) []string {
	out := []string{"", fmt.Sprintf("  kcat -b %s -t %s -C -o -3 -c 9", p.Kafka, Topic)} // not -e: where records keep coming there is no end
	more := []string{
		fmt.Sprintf("  %s groups --bootstrap-server %s --describe --all-groups", p.Program, p.Kafka),
		fmt.Sprintf("  redis-cli -p %s XREVRANGE %s:storage:local:%s:0 + - COUNT 1", p.RedisPort, p.Namespace, Topic),
	}
	if p.Catalog != "" {
		out = append(out, "  tables at "+p.Catalog+" (Iceberg REST catalog), in DuckDB:")
		sql := make([]string, 0, 4)
		for _, line := range p.SQL() {
			sql = append(sql, "    "+line)
		}
		more = append(sql, more...)
	}
	if free := room - len(out) - 1; free < len(more) && p.Catalog != "" {
		out[2] = "  tables at " + p.Catalog + " (Iceberg REST catalog)"
		more = more[4:][:min(2, max(0, free))]
	}
	return append(out, more...)
}

// plain renders a sample as one line.
func plain(s Sample) string {
	var starts, ends, lags, readers []string
	for _, p := range s.Partitions {
		starts = append(starts, strconv.FormatInt(p.Start, 10))
		ends = append(ends, strconv.FormatInt(p.End, 10))
		lags = append(lags, strconv.FormatInt(p.lag(), 10))
		readers = append(readers, strconv.Itoa(p.Reader))
	}
	line := fmt.Sprintf("%ds in=%.0f/s out=%.0f/s total_in=%d total_out=%d ack_p50=%s ack_p99=%s redis_memory=%s log_start=%s log_end=%s lag=%s read_by=%s",
		int(s.Elapsed.Seconds()+0.5), s.InRate, s.OutRate, s.In, s.Out, word(latency(s.P50)), word(latency(s.P99)), word(memory(s.RedisMemory)),
		strings.Join(starts, ","), strings.Join(ends, ","), strings.Join(lags, ","), strings.Join(readers, ","))
	if len(s.Tier.Logs) > 0 {
		line += " " + s.Tier.plain()
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(" failed=%d", s.Failed)
	}
	return line
}

// word leaves the blanks out of a value.
func word(value string) string { return strings.ReplaceAll(value, " ", "") }

func latency(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
}

func memory(bytes int64) string {
	switch {
	case bytes < 0:
		return "no answer"
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(bytes)/(1<<10))
	case bytes < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
	default:
		return fmt.Sprintf("%.2f GB", float64(bytes)/(1<<30))
	}
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// sparkline draws values as bars relative to the largest.
func sparkline(values []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var out strings.Builder
	for _, v := range values {
		i := 0
		if most > 0 {
			i = int(v / most * float64(len(bars)-1))
		}
		out.WriteRune(bars[i])
	}
	return out.String()
}
