/** Header that names a request in answers and logs. */
export const REQUEST_ID_HEADER = "x-request-id";

const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Answers how to name requests: the caller's own `X-Request-Id` where it is fit for a log line, else an id that is
 * unique over restarts (random prefix) and cheap (a counter).
 */
export function createRequestIds(random: string = crypto.randomUUID().slice(0, 8)): (request: Request) => string {
  let count = 0;
  return function requestId(request) {
    const given = request.headers.get(REQUEST_ID_HEADER);
    if (given !== null && CLIENT_ID.test(given)) return given;
    count += 1;
    return `req_${random}_${count.toString(36)}`;
  };
}
