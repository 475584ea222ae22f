package chain

import (
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
)

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const small = `{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"file:///t","last-sequence-number":0,"last-updated-ms":1,"last-column-id":1,
"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"x","required":true,"type":"long"}]}],
"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}]}`

// Other catalogs may compress metadata files.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`{"format-version":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		plain, plainErr := parse(&Version{Location: "file:///t/metadata/00001-a.metadata.json", Raw: raw})
		packed, packedErr := parse(&Version{Location: "file:///t/metadata/00001-a.gz.metadata.json", Raw: zipped(t, raw)})
		if (plainErr == nil) != (packedErr == nil) || plainErr == nil && !plain.Equals(packed) {
			t.Errorf("plain: %v, compressed: %v", plainErr, packedErr)
		}
		if _, err := parse(&Version{Location: "file:///t/metadata/00001-a.metadata.json.gz", Raw: raw}); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	})
}

func TestACompressedMetadataFileIsRead(t *testing.T) {
	v := &Version{Location: "file:///t/metadata/00001-a.gz.metadata.json", Raw: zipped(t, []byte(small))}
	if m, err := parse(v); err != nil || m.Location() != "file:///t" || string(v.Raw) != small {
		t.Errorf("%v, %v", m, err)
	}
}
