package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What stands between the fields of kcat's input and output. No test data contain it.
const (
	kcatKey    = "<#K#>"
	kcatRecord = "<#R#>"
)

// librdkafkaMessageSet1: with broker.version.fallback of 0.10 or later it asks for ApiVersions all the same.
const librdkafkaMessageSet1 = "librdkafka writes message set v1 only to brokers that offer nothing newer"

func newKcat(addr string) *client {
	return &client{
		name:    "kcat",
		version: kcatVersion,
		produce: func(ctx context.Context, r produceRequest) ([]int64, error) { return kcatProduce(ctx, addr, r) },
		consume: func(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
			return kcatConsume(ctx, addr, topic, partition, count, "beginning")
		},
		since: partitionwise(func(ctx context.Context, topic string, partition int32, at time.Time, count int) ([]record, error) {
			return kcatConsume(ctx, addr, topic, partition, count, fmt.Sprintf("s@%d", at.UnixMilli()))
		}),
		// kcat prints headers as one text, which cannot always be taken apart again.
		seen: func(r record) record {
			r.headers = []header{{"", []byte(kcatHeaders(r.headers))}}
			return r
		},
		shows:                 "shows headers as one text and does not show the timestamp type",
		admin:                 kcatAdmin(addr),
		lacksAdmin:            kcatLacksAdmin(),
		member:                kcatMember(addr),
		lacksConsumerProtocol: "its librdkafka is older than the consumer protocol",
		lacks: map[string]string{
			rowPause:     "has no command for it",
			xerialSnappy: "writes raw snappy only",
			messageSet1:  librdkafkaMessageSet1,
		},
		lacksTraits: map[trait]string{
			ownTimestamp:    "has no option for timestamps",
			nullBesideEmpty: "one option makes both empty keys and empty values null",
		},
		manyPrograms: true,
	}
}

func kcatVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "kcat", "-V").Output()
	if err != nil {
		return "", fmt.Errorf("ask kcat for its version: %w", err)
	}
	m := regexp.MustCompile(`Version (\S+) \(.*(librdkafka \S+)`).FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("find kcat's version in %q", out)
	}
	return fmt.Sprintf("%s (%s)", m[1], m[2]), nil
}

// kcatProduce starts kcat once for each run of records that can share its options.
func kcatProduce(ctx context.Context, addr string, r produceRequest) ([]int64, error) {
	common := []string{"-P", "-b", addr, "-t", r.topic, "-z", r.codec, "-D", kcatRecord,
		"-X", "acks=" + r.acks, "-X", "batch.size=900000", "-X", fmt.Sprintf("message.max.bytes=%d", bigLimit), "-X", "enable.idempotence=" + strconv.FormatBool(r.idempotent)}
	if r.oldFormat != "" {
		common = append(common, "-X", "api.version.request=false", "-X", "broker.version.fallback="+r.oldFormat+".0.1")
	}
	for rest := r.records; len(rest) > 0; {
		options := kcatOptions(rest[0])
		n := 1
		for n < len(rest) && slices.Equal(options, kcatOptions(rest[n])) {
			n++
		}
		if err := kcatSend(ctx, slices.Concat(common, options), rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return unknownOffsets(len(r.records)), nil
}

// kcatOptions are the options that a record needs: all records of one program share partition, headers, and what an empty field means.
func kcatOptions(r record) []string {
	options := []string{"-p", strconv.Itoa(int(r.partition))}
	for _, h := range r.headers {
		if h.value == nil {
			options = append(options, "-H", h.name)
		} else {
			options = append(options, "-H", h.name+"="+string(h.value))
		}
	}
	switch {
	case r.value == nil || r.key == nil && len(r.value) > 0:
		return append(options, "-K", kcatKey, "-Z")
	default:
		return append(options, "-K", kcatKey)
	}
}

func kcatSend(ctx context.Context, options []string, records []record) error {
	var in bytes.Buffer
	for _, r := range records {
		if slices.Contains(options, "-K") {
			in.Write(r.key)
			in.WriteString(kcatKey)
		}
		in.Write(r.value)
		in.WriteString(kcatRecord)
	}
	cmd := exec.CommandContext(ctx, "kcat", options...)
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kcat -P: %w: %s", err, out)
	}
	return nil
}

func kcatConsume(ctx context.Context, addr, topic string, partition int32, count int, from string) ([]record, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "kcat", "-C", "-q", "-b", addr, "-t", topic, "-p", fmt.Sprint(partition), "-o", from, "-c", fmt.Sprint(count),
		"-X", "check.crcs=true", "-f", "%p %o %T %K %S %k%s%h"+kcatRecord)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kcat -C: %w: %s", err, complaints.String())
	}
	var records []record
	for len(out) > 0 {
		var r record
		if r, out, err = parseKcat(out); err != nil {
			return records, fmt.Errorf("read output of kcat after %d records: %w", len(records), err)
		}
		records = append(records, r)
	}
	return records, nil
}

// parseKcat takes one record off the output.
func parseKcat(out []byte) (record, []byte, error) {
	f := bytes.SplitN(out, []byte(" "), 6)
	if len(f) != 6 {
		return record{}, nil, fmt.Errorf("%d fields", len(f))
	}
	var p fieldParser
	n := make([]int64, 5)
	for i := range n {
		n[i] = p.number(string(f[i]))
	}
	r := record{partition: int32(n[0]), offset: n[1], timestamp: n[2], kind: notTold}
	keySize, valueSize, rest := n[3], n[4], f[5]
	if p.err != nil || int64(len(rest)) < max(keySize, 0)+max(valueSize, 0) {
		return record{}, nil, fmt.Errorf("sizes %d and %d: %w", keySize, valueSize, p.err)
	}
	if keySize >= 0 {
		r.key, rest = rest[:keySize:keySize], rest[keySize:]
	}
	if valueSize >= 0 {
		r.value, rest = rest[:valueSize:valueSize], rest[valueSize:]
	}
	headers, rest, found := bytes.Cut(rest, []byte(kcatRecord))
	if !found {
		return record{}, nil, fmt.Errorf("no end of record")
	}
	r.headers = []header{{"", append([]byte{}, headers...)}}
	return r, rest, nil
}

// kcatHeaders is how kcat prints headers.
func kcatHeaders(hs []header) string {
	texts := make([]string, len(hs))
	for i, h := range hs {
		texts[i] = h.name + "=" + string(h.value)
		if h.value == nil {
			texts[i] = h.name + "=NULL"
		}
	}
	return strings.Join(texts, ",")
}
