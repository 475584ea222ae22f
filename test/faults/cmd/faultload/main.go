// Command faultload puts load on any Kafka broker for a while, during which somebody else may kill and restart it, and
// then says whether the log kept its promises. It exits with 1 when it did not.
//
//	faultload -bootstrap 127.0.0.1:9092 -topic crash -for 60s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/korvet-io/korvet/test/faults/load"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	var cfg load.Config
	bootstrap := flag.String("bootstrap", "127.0.0.1:9092", "brokers, comma separated host:port")
	flag.StringVar(&cfg.Topic, "topic", "faultload", "topic, has to be new")
	flag.IntVar(&cfg.Partitions, "partitions", 3, "partitions of the topic")
	flag.IntVar(&cfg.Idempotent, "idempotent", 3, "idempotent producers")
	flag.IntVar(&cfg.Plain, "plain", 2, "producers without idempotence")
	flag.IntVar(&cfg.Consumers, "consumers", 2, "consumers reading live")
	flag.IntVar(&cfg.Rate, "rate", 500, "records a second of each producer")
	flag.Uint64Var(&cfg.Seed, "seed", uint64(time.Now().UnixNano()), "seed of sizes and partitions")
	duration := flag.Duration("for", 30*time.Second, "how long to send")
	patience := flag.Duration("patience", 2*time.Minute, "how long outstanding outcomes and readers may take after that")
	flag.Parse()
	cfg.Brokers, cfg.Acks = strings.Split(*bootstrap, ","), kgo.AllISRAcks()
	ok, err := run(cfg, *duration, *patience)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(cfg load.Config, duration, patience time.Duration) (bool, error) {
	fmt.Printf("seed %d\n", cfg.Seed)
	start, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l, err := load.Start(start, cfg)
	if err != nil {
		return false, err
	}
	time.Sleep(duration)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := l.Finish(ctx)
	for text, n := range res.Errors {
		fmt.Printf("%d times %s\n", n, text)
	}
	if err != nil {
		return false, err
	}
	report := checker.Check(res.Run)
	fmt.Println(report)
	return report.OK(), nil
}
