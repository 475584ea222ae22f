-- Trims the head of one of a partition's streams below the log start, one bounded step: whole nodes without reading an
-- entry, or, when the caller knows that few are left, the rest of a node.
-- KEYS: after the guard's 4 stream
-- ARGV: after the guard's 3 log start that the id was found for  4 id of the first entry to keep
--       5 most entries to remove ('' = all below the id)
-- Answers {'OK', entries removed}, {'KEPT'} (the log starts below) or the guard's.
if after(ARGV[3], start) then return {'KEPT'} end
if ARGV[5] == '' then return {'OK', redis.call('XTRIM', KEYS[4], 'MINID', ARGV[4])} end
return {'OK', redis.call('XTRIM', KEYS[4], 'MINID', '~', ARGV[4], 'LIMIT', ARGV[5])}
