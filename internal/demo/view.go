package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Places are what a viewer may want to connect to.
type Places struct {
	Kafka, HTTP, Redis string // host:port
	RedisPort          string // of Redis, for redis-cli
	Namespace          string
	DataDir            string // empty: the Redis is somebody else's
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
	LogStart     []int64       // by partition
	LogEnd       []int64
	LastEvent    string
	LastProblem  string
	ratesHistory []float64
}

// lines renders a sample for a terminal.
func lines(p Places, s Sample) []string {
	out := []string{
		fmt.Sprintf("korvet demo   kafka %s   http %s   redis %s", p.Kafka, p.HTTP, p.Redis),
		"",
		fmt.Sprintf("  in     %10s records/s   %14s records   %s", grouped(int64(s.InRate+0.5)), grouped(s.In), sparkline(s.ratesHistory)),
		fmt.Sprintf("  out    %10s records/s   %14s records", grouped(int64(s.OutRate+0.5)), grouped(s.Out)),
		fmt.Sprintf("  acknowledged  p50 %-9s p99 %s", latency(s.P50), latency(s.P99)),
		fmt.Sprintf("  redis memory  %s", memory(s.RedisMemory)),
		"",
		"  partition       log start         log end",
	}
	for i := range s.LogEnd {
		out = append(out, fmt.Sprintf("  %-9s %15s %15s", Topic+"-"+strconv.Itoa(i), grouped(s.LogStart[i]), grouped(s.LogEnd[i])))
	}
	out = append(out, "", "  "+s.LastEvent, "",
		fmt.Sprintf("  kcat -b %s -t %s -C -o -3 -e", p.Kafka, Topic),
		fmt.Sprintf("  redis-cli -p %s XREVRANGE %s:storage:local:%s:0 + - COUNT 1", p.RedisPort, p.Namespace, Topic),
		"", "  Ctrl-C stops everything")
	if s.Failed > 0 || s.LastProblem != "" {
		out = append(out, fmt.Sprintf("  %s records failed: %s", grouped(s.Failed), s.LastProblem))
	}
	return out
}

// plain renders a sample as one line.
func plain(s Sample) string {
	ends := make([]string, len(s.LogEnd))
	for i, end := range s.LogEnd {
		ends[i] = strconv.FormatInt(end, 10)
	}
	line := fmt.Sprintf("%ds in=%.0f/s out=%.0f/s total_in=%d total_out=%d ack_p50=%s ack_p99=%s redis_memory=%s log_end=%s",
		int(s.Elapsed.Seconds()+0.5), s.InRate, s.OutRate, s.In, s.Out,
		strings.ReplaceAll(latency(s.P50), " ", ""), strings.ReplaceAll(latency(s.P99), " ", ""), strings.ReplaceAll(memory(s.RedisMemory), " ", ""), strings.Join(ends, ","))
	if s.Failed > 0 {
		line += fmt.Sprintf(" failed=%d", s.Failed)
	}
	return line
}

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
