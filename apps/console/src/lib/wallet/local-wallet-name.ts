/** What people see of the wallet that this page brings itself; apart from its code, which only a local cluster loads. */
export const LOCAL_WALLET_NAME = 'Test wallet in this browser';
