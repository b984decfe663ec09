export const help = `Volcengine Ark (Seedream) and Alibaba Cloud DashScope (Qwen-Image) on this machine.

Usage: calotype-emulator [options]

  --port <number>          the port to listen on, 0 for any free one (default 4010)
  --host <address>         the address to listen on (default 127.0.0.1: this machine only)
  --tiny                   answer with small pictures, for load tests
  --ms-per-image <number>  drawing time of an image in milliseconds (default 0; the real models take 19 to 60 s)
  --link-ttl <seconds>     how long a result link is served (default 86400)
  --seed <number>          draw everything random from this number, so that runs repeat
  --log                    a line per request on stderr
  --help                   show this text
  --version                show the version

Any API key is accepted. Faults and the requests received are under /_emulator/faults and /_emulator/requests.
`;
