/** Header in which programs send their API key. */
export const API_KEY_HEADER = 'x-service-api-key';

/** First characters of every API key. Secret scanners find leaked keys by them. */
export const API_KEY_SCHEME = 'fwk_';

/** Base62 characters of a key's 32 random bytes: 62^43 is the first power of 62 above 2^256. */
export const API_KEY_SECRET_LENGTH = 43;

/** Base62 characters of a CRC-32: 62^6 is the first power of 62 above 2^32. */
export const API_KEY_CHECKSUM_LENGTH = 6;

/** Length of a key's prefix, by which the service finds it. Lists show the prefix. */
export const API_KEY_PREFIX_LENGTH = 12;

/** Words for the format of a key, e.g. "fwk_ and 49 letters and digits". */
export const API_KEY_FORMAT = `${API_KEY_SCHEME} and ${API_KEY_SECRET_LENGTH + API_KEY_CHECKSUM_LENGTH} letters and digits`;

const BASE62 = '[0-9A-Za-z]';
const PREFIX = `${API_KEY_SCHEME}${BASE62}{${API_KEY_PREFIX_LENGTH - API_KEY_SCHEME.length}}`;

/** Pattern of a key. Its groups are the secret and the checksum, which may not belong together. */
export const API_KEY_PATTERN = new RegExp(
  `^${API_KEY_SCHEME}(${BASE62}{${API_KEY_SECRET_LENGTH}})(${BASE62}{${API_KEY_CHECKSUM_LENGTH}})$`,
);

/** Pattern of the prefix of a key. */
export const API_KEY_PREFIX_PATTERN = new RegExp(`^${PREFIX}$`);

/** Source of a pattern that finds keys in a text, whole or cut off after their prefix. */
export const API_KEY_IN_TEXT = `${PREFIX}${BASE62}*`;
