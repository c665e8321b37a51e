// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns looks up the addresses of a name: A and AAAA at the same time, or the targets of SRV records. It returns
// for each family how that ended and for how long it holds.
//
// resolver.go has the options and Lookup, lookup.go the families and SRV targets, targets.go what is kept of these,
// chain.go the aliases of a name, query.go the exchange with nameservers.go, silence.go which of them did not reply, and
// message.go what counts as an answer.
//
// Names are always fully qualified: search lists never apply. A name, an alias or an SRV target in a domain of the
// cluster is denied before it is queried. Addresses are for the egress policy to check.
//
// It is a stub resolver: it trusts its nameservers and follows the aliases that they leave open, but it never queries
// the name's own servers, and never uses an additional section, nor a truncated message unless the nameserver cannot be
// queried by TCP. It keeps nothing but the addresses of SRV targets, for their own TTL, and the last ones of those that
// fail then. Each lookup is bounded in time, bytes, records and aliases. What a server sent is in Answer.Err only,
// which is for logs at debug level.
package dns
