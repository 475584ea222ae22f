import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;

/**
 * Writes what Kafka's own Java code makes of four records, in each magic and codec, into the folder of its first
 * argument: java -cp 'kafka-clients and its libraries' MakeGolden.java FOLDER. With a second argument it prints the
 * records of the batches in that file instead.
 */
public class MakeGolden {
    static final String[] CODECS = {"uncompressed", "gzip", "snappy", "lz4", "zstd"};

    static Compression compression(String name) {
        switch (name) {
            case "gzip": return Compression.gzip().build();
            case "snappy": return Compression.snappy().build();
            case "lz4": return Compression.lz4().build();
            case "zstd": return Compression.zstd().build();
            default: return Compression.NONE;
        }
    }

    static byte[] build(byte magic, String codec) {
        MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(1 << 20), magic, compression(codec),
            TimestampType.CREATE_TIME, 0L);
        byte[] large = new byte[codec.equals("uncompressed") ? 100 : 100_000]; // two LZ4 blocks, four of snappy
        for (int i = 0; i < large.length; i++) large[i] = (byte) (i % 251);
        Header[] headers = magic < 2 ? new Header[0] : new Header[] {
            new RecordHeader("b", new byte[] {1}), new RecordHeader("a", null), new RecordHeader("", new byte[0])};
        b.append(1700000000000L, "k0".getBytes(), "v0".getBytes(), new Header[0]);
        b.append(1700000000005L, null, large, new Header[0]);
        b.append(1700000000001L, new byte[0], null, headers);
        b.append(1700000000002L, "k3".getBytes(), new byte[0], new Header[0]);
        ByteBuffer out = b.build().buffer();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    static String show(ByteBuffer b) {
        if (b == null) return "null";
        byte[] bytes = new byte[b.remaining()];
        b.get(bytes);
        return bytes.length > 20 ? bytes.length + " bytes, hash " + java.util.Arrays.hashCode(bytes) : new String(bytes);
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 2) {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(Path.of(args[1]))));
            records.batches().forEach(batch -> {
                batch.ensureValid();
                System.out.println(batch);
            });
            for (Record r : records.records()) {
                System.out.println(r.offset() + " " + r.timestamp() + " key " + show(r.key()) + " value " + show(r.value())
                    + " headers " + java.util.Arrays.toString(r.headers()));
            }
            return;
        }
        for (byte magic = 0; magic <= 2; magic++) {
            for (String codec : CODECS) {
                if (magic < 2 && codec.equals("zstd")) continue;
                Files.write(Path.of(args[0], "java-v" + magic + "-" + codec), build(magic, codec));
            }
        }
    }
}
