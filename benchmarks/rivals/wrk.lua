-- wrk -s wrk.lua URL -- FILE ["Name: value" ...]: posts the file's bytes with these headers,
-- and prints what it saw as one line of JSON, times in microseconds.

function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  for n = 2, #args do
    local name, value = args[n]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %.6f, "errors": %d, "p50_us": %d, "p95_us": %d, "p99_us": %d}\n',
    summary.requests, summary.duration / 1e6,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout,
    latency:percentile(50), latency:percentile(95), latency:percentile(99)))
end
