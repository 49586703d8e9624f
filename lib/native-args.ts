/** The numbers that `append` takes, in a shared array; native has the same names and positions. */

/** Positions in `args` of the addon. */
export const ARG_STORE = 0;
export const ARG_TOPIC = 1;
export const ARG_QUEUE_ID = 2;
/** -1: all of the body. */
export const ARG_BODY_LENGTH = 3;
/** The properties are in `staged` of the store. */
export const ARG_PROPERTIES_AT = 4;
export const ARG_PROPERTIES_LENGTH = 5;
/** -1: none. */
export const ARG_PLAN = 6;
/** NaN: the store timestamp. */
export const ARG_BORN_TIMESTAMP = 7;
/** How many of the properties' bytes hold nothing that a message is found by: no key, no tags. */
export const ARG_KEYS_FROM = 8;
