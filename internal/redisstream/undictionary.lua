-- Removes the readable copy of a topic's newest zstd dictionary when it is that of the life that ends: the next life of the
-- name may have published its own.
-- KEYS: 1 readable copy
-- ARGV: 1 SHA-1 of the newest dictionary of the life that ends
-- Answers how many keys went.
local blob = redis.call('GET', KEYS[1])
if blob and redis.sha1hex(blob) == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
return 0
