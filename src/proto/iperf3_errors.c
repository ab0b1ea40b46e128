/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3 reports errors as numbers; here they are in words, for the message of a client that
 * was refused.
 */
#include "proto/priv.h"

static const struct {
	short code;
	const char *text;
} errors[] = {
	{5, "the duration is out of range"},
	{6, "too many streams (iperf3 takes 1 to 128)"},
	{7, "the block size is out of range"},
	{8, "the socket buffer size is out of range"},
	{9, "the interval is out of range"},
	{10, "the MSS is out of range"},
	{11, "it has no sendfile"},
	{12, "the omitted time is out of range"},
	{13, "it does not implement this"},
	{14, "it cannot open its file"},
	{15, "the burst is out of range"},
	{16, "two end conditions were given"},
	{18, "it has no SCTP"},
	{20, "the UDP block size is out of range"},
	{21, "the type of service is out of range"},
	{25, "reverse and bidirectional exclude each other"},
	{27, "the bit rate is over the server's limit"},
	{29, "the login's time differs too much"},
	{30, "it was idle for too long"},
	{37, "the duration is over the server's limit"},
	{39, "it cannot skip the receive copy"},
	{100, "it could not start a test"},
	{101, "it could not set up the test"},
	{102, "it could not listen for data connections"},
	{104, "it could not accept a connection"},
	{106, "it did not get the cookie"},
	{107, "it could not write to the control connection"},
	{108, "it could not read from the control connection"},
	{109, "the control connection closed unexpectedly"},
	{110, "it got an unknown message"},
	{111, "it could not send a control message"},
	{112, "it could not receive a control message"},
	{113, "it could not send the parameters"},
	{114, "it did not accept the parameters"},
	{115, "it could not put its results together"},
	{116, "it could not send its results"},
	{117, "it could not receive our results"},
	{118, "waiting failed there"},
	{119, "the client was stopped"},
	{120, "the server was stopped"},
	{121, "access denied: it is busy with a test"},
	{122, "it could not set TCP_NODELAY"},
	{123, "it could not set the MSS"},
	{124, "it could not set the socket buffers"},
	{125, "it could not set the type of service"},
	{126, "it could not set the traffic class"},
	{127, "it could not set the flow label"},
	{128, "it could not reuse the address"},
	{129, "it could not make a socket non-blocking"},
	{130, "it could not set the window"},
	{131, "it does not speak this transport protocol"},
	{132, "it could not bind to the wanted CPU"},
	{134, "it could not set the congestion control"},
	{140, "it could not set the pacing rate"},
	{141, "its socket buffers are smaller than asked"},
	{142, "the login failed, or it wants one"},
	{143, "it could not bind to its device"},
	{144, "it received no data for too long"},
	{145, "it could not forbid fragmentation"},
	{148, "it could not set the TCP user timeout"},
	{150, "it could not start a thread"},
	{160, "its safety timer for the test ran out"},
	{200, "it could not make a data stream"},
	{201, "it could not set up a data stream"},
	{202, "it could not listen for a data stream"},
	{203, "it could not connect a data stream"},
	{204, "it could not accept a data stream"},
	{205, "it could not write to a data stream"},
	{206, "it could not read from a data stream"},
	{207, "a data stream closed unexpectedly"},
	{208, "a stream number does not match"},
	{300, "it could not make a timer"},
	{301, "it could not update a timer"},
};

const char *iperf3_error_text(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].code == code)
			return errors[i].text;
	return "an error without a known meaning";
}
