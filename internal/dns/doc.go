// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns asks nameservers for the addresses behind a name: A and AAAA side by side, or the
// targets of SRV records. It says per family how that ended and for how long it holds.
//
// Names are always fully qualified: search lists never apply. A name, a link of a CNAME or DNAME
// chain, or an SRV target that leads into the cluster is refused here, before it is asked for.
// Addresses are not judged: that is the egress policy's.
//
// It is a stub. It believes the nameservers that it was given and follows what they leave open,
// but it never asks the name's own servers, keeps no cache, and never answers from a truncated
// message or from an additional section. Each lookup is bounded in time, bytes, records and
// links. What a server sent is found in Answer.Err alone, which is for logs at debug level.
package dns
