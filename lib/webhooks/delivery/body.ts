/**
 * The body of a delivery, `{ "subscription": id, "event": {…} }`, from an event that is JSON already: one event goes to
 * many subscriptions and is written once.
 */
export function webhookBody(subscriptionId: string, eventJson: string): string {
  return `{"subscription":${JSON.stringify(subscriptionId)},"event":${eventJson}}`;
}
