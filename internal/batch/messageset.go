package batch

// messageOverheadV0 is the size of a message of magic 0 without key and value, in bytes, as its length field counts it.
const messageOverheadV0 = 14
