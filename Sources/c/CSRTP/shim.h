// libsrtp2 for the SRTPLibrary target.
#include <srtp2/srtp.h>
