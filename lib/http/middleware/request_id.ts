/** Header with the id of a request, which the log shows too. */
export const REQUEST_ID_HEADER = "x-request-id";

const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Makes the function that gives a request its id. The id is the client's `X-Request-Id` where it suits a log line. Otherwise it is
 * a counter after a random prefix, which is unique over restarts.
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
