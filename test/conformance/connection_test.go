package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func connectionRows() []row {
	rows := []row{
		{name: "ApiVersions v99", do: apiVersionsTooNew, want: "correlation id 7, UNSUPPORTED_VERSION, key 18 of 1 keys, then OK"},
		{name: "ApiVersions of an unknown version 127", do: apiVersionsHex, want: "correlation id 7, UNSUPPORTED_VERSION, key 18 of 1 keys, then OK"},
		{name: "ApiVersions v3 has response header v0", do: apiVersionsHeader, want: "OK"},
		{name: "software name empty", do: software("", "1"), want: "INVALID_REQUEST, 0 keys"},
		{name: "software name with a blank", do: software("a b", "1"), want: "INVALID_REQUEST, 0 keys"},
		{name: "software version with a comma", do: software("a", "1,2"), want: "INVALID_REQUEST, 0 keys"},
		{name: "Produce is advertised from v0", do: produceAdvertised, want: "0-13"},
		{name: "array length -2 where null is allowed", do: hexMetadata(1, "0000000f 0003 0001 00000001 0001 63 fffffffe"), want: "OK"},
		{name: "bytes after the body", do: hexMetadata(1, "00000012 0003 0001 00000001 0001 63 00000000 abcdef"), want: "OK"},
		{name: "null client id", do: hexMetadata(1, "0000000e 0003 0001 00000001 ffff 00000000"), want: "OK"},
		{name: "client id that is not UTF-8", do: hexMetadata(1, "00000010 0003 0001 00000001 0002 fffe 00000000"), want: "OK"},
		{name: "negative correlation id", do: hexMetadata(-16, "0000000f 0003 0001 fffffff0 0001 63 00000000"), want: "OK"},
		{name: "unknown tagged field", do: unknownTag, want: "OK"},
		{name: "three requests in one write", do: threeAtOnce, want: "answers 1 2 3"},
		{name: "quick request behind a waiting fetch", do: behindFetch, want: "answers 1 2"},
		{name: "SaslHandshake v1 on a plaintext listener", do: saslHandshake, want: "ILLEGAL_SASL_STATE"},
		{name: "SaslAuthenticate v2 on a plaintext listener", do: saslAuthenticate, want: "ILLEGAL_SASL_STATE"},
		{name: "one broken connection leaves others alone", do: othersUnharmed, want: "closed, other alive"},
	}
	return append(rows, closingRows()...)
}

// closingRows are the frames that Kafka answers by closing the connection.
func closingRows() []row {
	var rows []row
	for _, f := range []struct{ name, frame string }{
		{"version too high (Metadata v99)", "0000000f 0003 0063 00000001 0001 63 00000000"},
		{"version negative (Metadata v-1)", "0000000f 0003 ffff 00000001 0001 63 00000000"},
		{"version too low (ListOffsets v0)", "00000013 0002 0000 00000001 0001 63 ffffffff 00000000"},
		{"version too low (Fetch v0)", "0000001b 0001 0000 00000001 0001 63 ffffffff 00000000 00000000 00000000"},
		{"unknown key 999", "0000000b 03e7 0000 00000001 0001 63"},
		{"unknown key -1", "0000000b ffff 0000 00000001 0001 63"},
		{"Vote, for controllers only", "0000000b 0034 0000 00000001 0001 63"},
		{"LeaderAndIsr, removed", "0000000b 0004 0000 00000001 0001 63"},
		{"frame length 104857601", "06400001 0003 0001 00000001 0001 63 00000000"},
		{"frame length 2147483647", "7fffffff 0003 0001 00000001 0001 63 00000000"},
		{"frame length -1", "ffffffff 0003 0001 00000001 0001 63 00000000"},
		{"frame length 0", "00000000"},
		{"frame length 4", "00000004 00030001"},
		{"body cut short", "0000000c 0003 0001 00000001 0001 63 00"},
		{"array of 2147483647 elements", "0000000f 0003 0001 00000001 0001 63 7fffffff"},
		{"compact array of 4294967294 elements", "00000011 0003 0009 00000001 0001 63 00 ffffffff0f"},
		{"an HTTP request", "474554202f20485454502f312e310d0a0d0a"},
		{"string longer than the body", "00000015 0003 0001 00000001 0001 63 00000001 7fff 61626364"},
		{"client id longer than the frame", "0000000f 0003 0001 00000001 7fff 63 00000000"},
		{"tagged field longer than the body", "00000014 0003 000c 00000001 0001 63 00 01 01 00 01 05 ff ff 03"},
		{"header tag section longer than frame", "00000014 0003 000c 00000001 0001 63 ffffff7f 01 01 00 00 00"},
		{"correlation id missing", "00000006 0003 0001 0000"},
	} {
		rows = append(rows, row{name: f.name, want: "closed", do: func(c *conn) string {
			c.writeHex(f.frame)
			if !c.closed() {
				return "not closed"
			}
			return "closed"
		}})
	}
	return rows
}

func apiVersionsTooNew(c *conn) string {
	return answerToTooNew(c, "00000011 0012 0063 00000007 0001 63 00 0261 0231 00")
}

func apiVersionsHex(c *conn) string {
	return answerToTooNew(c, "00000011 0012 007f 00000007 0001 63 00 0261 0231 00")
}

// answerToTooNew expects the answer in format v0, and that the connection goes on.
func answerToTooNew(c *conn, frame string) string {
	c.writeHex(frame)
	answer, err := c.readFrame()
	if err != nil {
		return outcome(err)
	}
	resp := kmsg.NewApiVersionsResponse()
	if err := resp.ReadFrom(answer[4:]); err != nil {
		return err.Error()
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, answer[4:]) {
		return fmt.Sprintf("not in format v0: % x", answer)
	}
	next := ask[*kmsg.ApiVersionsResponse](c, apiVersions(3))
	return fmt.Sprintf("correlation id %d, %s, key %d of %d keys, then %s",
		binary.BigEndian.Uint32(answer), code(resp.ErrorCode), resp.ApiKeys[0].ApiKey, len(resp.ApiKeys), code(next.ErrorCode))
}

func apiVersionsHeader(c *conn) string {
	c.writeHex("00000011 0012 0003 00000007 0001 63 00 0261 0231 00")
	answer, err := c.readFrame()
	if err != nil {
		return outcome(err)
	}
	if !bytes.Equal(answer[:6], []byte{0, 0, 0, 7, 0, 0}) {
		return fmt.Sprintf("starts with % x", answer[:6])
	}
	req := apiVersions(3)
	if _, err := decode(req, 7, answer); err != nil {
		return err.Error()
	}
	return "OK"
}

func software(name, version string) func(*conn) string {
	return func(c *conn) string {
		req := apiVersions(3)
		req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
		resp := ask[*kmsg.ApiVersionsResponse](c, req)
		return fmt.Sprintf("%s, %d keys", code(resp.ErrorCode), len(resp.ApiKeys))
	}
}

// produceAdvertised: librdkafka up to 2.1 reads "no v0" as "no compression" (KIP-896), so Kafka says 0 although it only takes 3.
func produceAdvertised(c *conn) string {
	for _, k := range ask[*kmsg.ApiVersionsResponse](c, apiVersions(3)).ApiKeys {
		if k.ApiKey == int16(kmsg.Produce) {
			return fmt.Sprintf("%d-%d", k.MinVersion, k.MaxVersion)
		}
	}
	return "not advertised"
}

// hexMetadata sends a Metadata v1 frame and demands a whole answer with its correlation id.
func hexMetadata(id int32, frame string) func(*conn) string {
	return func(c *conn) string {
		c.writeHex(frame)
		answer, err := c.readFrame()
		if err != nil {
			return outcome(err)
		}
		if _, err := decode(metadataRequest(1), id, answer); err != nil {
			return err.Error()
		}
		return "OK"
	}
}

func unknownTag(c *conn) string {
	req := metadataRequest(12)
	req.UnknownTags.Set(77, []byte("later"))
	if _, err := c.try(req); err != nil {
		return outcome(err)
	}
	return "OK"
}

func threeAtOnce(c *conn) string {
	var all []byte
	for range 3 {
		b, _ := c.frame(apiVersions(0))
		all = append(all, b...)
	}
	c.write(all)
	return answerOrder(c, 3)
}

func behindFetch(c *conn) string {
	t := c.newTopic()
	c.next = 1
	o := fetchAt(0)
	o.waitMs = 300
	c.send(o.request(t))
	c.send(apiVersions(0))
	return answerOrder(c, 2)
}

func answerOrder(c *conn, n int) string {
	s := "answers"
	for range n {
		answer, err := c.readFrame()
		if err != nil {
			return s + " " + outcome(err)
		}
		s += fmt.Sprintf(" %d", binary.BigEndian.Uint32(answer))
	}
	return s
}

func saslHandshake(c *conn) string {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version = 1
	req.Mechanism = "PLAIN"
	resp, err := c.try(req)
	if err != nil {
		return outcome(err)
	}
	return code(resp.(*kmsg.SASLHandshakeResponse).ErrorCode)
}

func saslAuthenticate(c *conn) string {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version = 2
	req.SASLAuthBytes = []byte("\x00user\x00password")
	resp, err := c.try(req)
	if err != nil {
		return outcome(err)
	}
	return code(resp.(*kmsg.SASLAuthenticateResponse).ErrorCode)
}

func othersUnharmed(c *conn) string {
	other := c.another()
	other.alive()
	c.writeHex("0000000f 0003 0001 00000001 0001 63 7fffffff")
	s := "not closed"
	if c.closed() {
		s = "closed"
	}
	if other.alive() {
		s += ", other alive"
	}
	return s
}
