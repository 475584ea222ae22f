package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what a run does. They go into the JSON file, so that a figure can be repeated.
type options struct {
	Systems          []string        `json:"systems"`
	Measures         []string        `json:"measures"`
	Sizes            []int           `json:"sizes"`
	Partitions       []int           `json:"partitions"`
	Producers        []int           `json:"producers"`
	Rounds           int             `json:"rounds"`
	Warmup           int             `json:"warmup"`
	Records          map[int]int     `json:"records"`
	TailRate         map[int]int     `json:"tail_rate"`
	LatencyRate      int             `json:"latency_rate"`
	LatencyDuration  time.Duration   `json:"latency_duration"`
	GroupMembers     int             `json:"group_members"`
	Groups           []int           `json:"groups"`
	IdleGroups       int             `json:"idle_groups"`
	CommitPartitions []int           `json:"commit_partitions"`
	CommitRate       int             `json:"commit_rate"`
	GroupsFor        time.Duration   `json:"groups_for"`
	StorageFor       time.Duration   `json:"storage_for"`
	StorageVolume    int             `json:"storage_volume"`
	TierPath         string          `json:"tier_path"`
	Codec            string          `json:"codec"`
	Compressible     float64         `json:"compressible"`
	Acks             string          `json:"acks"`
	AOF              string          `json:"aof"`
	Profile          string          `json:"profile,omitempty"`
	ProfileFor       time.Duration   `json:"profile_for,omitempty"`
	KorvetSettings   []string        `json:"korvet_settings,omitempty"`
	details          bool            // print every metric
	out              string          // folder of what the run leaves
	korvet, redis    string          // programs
	kafka            string          // script
	ports            int             // base
	wanted           map[string]bool // of Measures
}

var (
	allSystems  = []string{"raw", "korvet", "kafka"}
	allMeasures = []string{"start", "joins", "idle", "commits", "produce", "catchup", "tail", "paced", "latency", "stock", "storage", "tier"}
	// onceMeasures have no sizes of records and numbers of producers.
	onceMeasures = []string{"start", "joins", "idle", "commits", "storage", "tier"}
)

// defaultVolume is how many bytes of values one load moves where no number of records is given.
const defaultVolume = 200 << 20

// lists are the flags that hold several values, as text.
type lists struct {
	systems, measures, sizes, partitions, producers, records, tailRate, groups, commitParts, settings string
}

func parseOptions(args []string) (*options, error) {
	o := &options{kafka: os.Getenv("KORVET_BENCH_KAFKA")}
	var l lists
	flags := defineFlags(o, &l)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.Systems, o.Measures = strings.Split(l.systems, ","), strings.Split(l.measures, ",")
	o.KorvetSettings = strings.Fields(l.settings)
	for _, list := range []struct {
		into *[]int
		text string
	}{{&o.Sizes, l.sizes}, {&o.Partitions, l.partitions}, {&o.Producers, l.producers}, {&o.Groups, l.groups}, {&o.CommitPartitions, l.commitParts}} {
		var err error
		if *list.into, err = parseInts(list.text); err != nil {
			return nil, err
		}
	}
	var err error
	if o.Records, err = parseBySize(l.records); err != nil {
		return nil, err
	}
	if o.TailRate, err = parseBySize(l.tailRate); err != nil {
		return nil, err
	}
	return o, o.complete()
}

func defineFlags(o *options, l *lists) *flag.FlagSet {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&l.systems, "systems", strings.Join(allSystems, ","), "what to measure; kafka needs KORVET_BENCH_KAFKA")
	flags.StringVar(&l.measures, "measures", strings.Join(allMeasures, ","), "what to measure of each")
	flags.StringVar(&l.sizes, "sizes", "100,1024", "bytes of a record's value")
	flags.StringVar(&l.partitions, "partitions", "1,6", "numbers of partitions")
	flags.StringVar(&l.producers, "producers", "1,4", "numbers of producers")
	flags.StringVar(&l.records, "records", "", "records a load, by size: 100=2000000,1024=500000 (default 200 MiB of values)")
	flags.StringVar(&l.tailRate, "tail-rate", "100=200000,1024=50000", "records a second of the paced measure, by size")
	flags.IntVar(&o.GroupMembers, "group-members", 500, "members that join one group at once")
	flags.IntVar(&o.IdleGroups, "idle-groups", 2000, "groups that only heartbeat")
	flags.StringVar(&l.groups, "groups", "100,2000", "numbers of groups that commit")
	flags.StringVar(&l.commitParts, "commit-partitions", "1,10", "partitions of one commit")
	flags.IntVar(&o.CommitRate, "commit-rate", 20000, "commits a second over all groups where they are paced")
	flags.DurationVar(&o.GroupsFor, "groups-for", 10*time.Second, "how long groups heartbeat, and commit at a time")
	flags.DurationVar(&o.StorageFor, "storage-for", 6*time.Second, "how long the storage measure takes latencies, without and with the worker at work, after one second that is not counted")
	flags.IntVar(&o.StorageVolume, "storage-volume", 1<<30, "bytes of values that the storage measure reads over many segments; its other parts have a fifth as many")
	flags.StringVar(&o.TierPath, "tier-path", "", "where the tier measure keeps tables: file:///folder or s3://bucket/prefix, with -korvet '--korvet.storage.remote.s3.endpoint=...' (default: a folder that goes afterwards)")
	flags.StringVar(&l.settings, "korvet", "", "more settings of korvet, separated by spaces: '--korvet.x=y --korvet.z=1'")
	flags.IntVar(&o.Rounds, "rounds", 5, "rounds, in each of which every system is measured once")
	flags.IntVar(&o.Warmup, "warmup", 1, "rounds before those, not counted")
	flags.IntVar(&o.LatencyRate, "latency-rate", 1000, "records a second of the latency measure")
	flags.DurationVar(&o.LatencyDuration, "latency-duration", 10*time.Second, "how long latencies are taken, after one second that is not counted")
	flags.StringVar(&o.Codec, "codec", "none", "codec of the producers: none, gzip, snappy, lz4, zstd")
	flags.Float64Var(&o.Compressible, "compressible", 0.5, "the part of each value that is words; the rest is random")
	flags.StringVar(&o.Acks, "acks", "all", "acks of the producers: all (idempotent), 1, 0")
	flags.StringVar(&o.AOF, "aof", "off", "append-only file of each Redis: off, everysec, always")
	flags.StringVar(&o.Profile, "profile", "", "take a CPU profile of korvet's broker during this measure, and measure nothing else: produce, catchup, tail, paced, latency, joins, idle, commits")
	flags.DurationVar(&o.ProfileFor, "profile-for", 3*time.Second, "how long the profile is taken; the load must last longer (-records)")
	flags.BoolVar(&o.details, "details", false, "print every metric; the JSON file has them in any case")
	flags.StringVar(&o.out, "out", "test/bench/out", "folder for results and profiles")
	flags.StringVar(&o.korvet, "korvet-program", "bin/korvet", "korvet's binary")
	flags.StringVar(&o.redis, "redis-program", "", "redis-server (default: of PATH, else valkey-server)")
	flags.IntVar(&o.ports, "ports", 21700, "first of the loopback ports that are used")
	return flags
}

// complete checks the options and fills in what depends on others.
func (o *options) complete() error {
	if o.Profile != "" {
		o.Systems, o.Measures, o.Rounds, o.Warmup = []string{"korvet"}, []string{o.Profile}, 1, 0
		o.KorvetSettings = append(o.KorvetSettings, "--korvet.http.pprof=true")
	}
	if err := onlyKnown("system", o.Systems, allSystems); err != nil {
		return err
	}
	if err := onlyKnown("measure", o.Measures, allMeasures); err != nil {
		return err
	}
	if err := onlyKnown("aof", []string{o.AOF}, []string{"off", "everysec", "always"}); err != nil {
		return err
	}
	if o.GroupMembers < 1 || o.IdleGroups < 1 || o.CommitRate < 1 || o.GroupsFor < time.Second || o.StorageFor < time.Second || o.StorageVolume < 8<<20 {
		return fmt.Errorf("group-members, idle-groups and commit-rate must be at least 1, groups-for and storage-for at least 1s, storage-volume at least 8 MiB")
	}
	if o.Rounds < 1 || o.Warmup < 0 || o.Compressible < 0 || o.Compressible > 1 || o.LatencyRate < 1 {
		return fmt.Errorf("rounds and latency-rate must be at least 1, warmup at least 0, compressible from 0 to 1")
	}
	o.wanted = map[string]bool{}
	for _, measure := range o.Measures {
		o.wanted[measure] = true
	}
	for _, size := range o.Sizes {
		if o.Records[size] == 0 {
			o.Records[size] = defaultVolume / size
		}
	}
	if o.redis == "" {
		for _, name := range []string{"redis-server", "valkey-server"} {
			if path, err := exec.LookPath(name); err == nil {
				o.redis = path
				break
			}
		}
		if o.redis == "" && slices.ContainsFunc(o.Systems, func(name string) bool { return name != "kafka" }) {
			return fmt.Errorf("neither redis-server nor valkey-server is in PATH")
		}
	}
	out, err := filepath.Abs(o.out)
	o.out = out
	return err
}

func onlyKnown(what string, given, known []string) error {
	for _, name := range given {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown %s %q: one of %s", what, name, strings.Join(known, ", "))
		}
	}
	return nil
}

func parseInts(text string) ([]int, error) {
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of numbers above 0", text)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// parseBySize reads size=number,size=number.
func parseBySize(text string) (map[int]int, error) {
	bySize := map[int]int{}
	if text == "" {
		return bySize, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		size, number, _ := strings.Cut(part, "=")
		pair, err := parseInts(size + "," + number)
		if err != nil || len(pair) != 2 {
			return nil, fmt.Errorf("%q is not of the form size=number,size=number", text)
		}
		bySize[pair[0]] = pair[1]
	}
	return bySize, nil
}
