package batch

// Recompress gives the batch the codec that a topic's compression.type asks for, at that codec's level. A batch that
// has it already is returned as it is, whatever its level, as Kafka does. It takes b over: only the batch returned may
// be used afterwards.
func Recompress(b *Batch, codec Codec, level int) (*Batch, error) {
	if !codec.known() {
		return nil, refuse(ErrUnsupportedCompression, "%v", codec)
	}
	if codec == b.Codec {
		return b, nil
	}
	out := *b
	out.Codec = codec
	out.Raw = make([]byte, HeaderSize, HeaderSize+len(b.records))
	copy(out.Raw, b.Raw)
	out.Raw = codec.compress(out.Raw, b.records, level)
	putInt32(out.Raw, atLength, int32(len(out.Raw)-lengthOverhead))
	putInt16(out.Raw, atAttributes, int16At(out.Raw, atAttributes)&^codecMask|int16(codec))
	sealCRC(out.Raw)
	if codec == None {
		out.Release()
		out.records = out.Raw[HeaderSize:]
	}
	b.records, b.scratch = nil, nil
	return &out, nil
}
