// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import "context"

// scenario is one row: what is done to three replicas under load.
type scenario struct {
	name string
	// args of the replicas, besides the usual ones.
	args []string
	// split says that the replicas only answer webhooks, and processes of their own reconcile.
	split bool
	// loses says that a replica is lost, with the calls that it has and those that are sent to it before
	// the Service knows. What fails because of these is explained; anything else is not.
	loses bool
	// controlPlane says that the API server or etcd is away for a while, so that requests may be
	// unavailable without anybody to blame.
	controlPlane bool
	// nodes is how many simulated nodes there are, on which pods run.
	nodes int
	// rate is how many steps the load takes in a second at most; 0 is that of Options.
	rate float32
	// rare scenarios send a quarter of the requests: what happens in them is over soon.
	rare bool
	// before prepares the cluster, before there is any replica; it may be nil.
	before func(ctx context.Context, s *site, root string) error
	// do returns when it is over, and everything is as it should be again.
	do func(context.Context, *attempt) error
}

var scenarios = []scenario{
	{name: "leaf rotation", args: []string{"--set=webhook.certificates.validity=1m"}, do: rotateLeaves},
	{name: "CA rotation", args: []string{"--set=webhook.certificates.validity=2m"}, do: rotateAuthority},
	{name: "cert-manager renewal", args: []string{"--set=webhook.certificates.source=certManager"}, before: withCertManager, do: renewIssued},
	{name: "rolling update", do: rollOut},
	{name: "leader SIGKILL", split: true, do: killReconcilers},
	{name: "replica SIGKILL, webhooks and all", loses: true, do: killLeaders},
	{name: "leader SIGTERM", rare: true, do: stopLeaders},
	{name: "lease lost", rare: true, do: loseLease},
	{name: "clock step", rare: true, do: stepClocks},
	{name: "API server restart", controlPlane: true, rare: true, do: restartAPIServer},
	{name: "etcd restart", controlPlane: true, rare: true, do: restartEtcd},
	{name: "replica cannot reach the API server", rare: true, do: cutOffFromAPIServer},
	{name: "replica refuses connections", rare: true, loses: true, do: refuseConnections},
	{name: "replica behind a silent network", rare: true, loses: true, do: fallSilent},
	{name: "hostile connections", do: sendHostile},
	{name: "chaos and restarts", args: []string{"--set=rebootPolicies.maxRestarts=30"}, nodes: 3, rate: 20, rare: true, loses: true, before: withWorkloads, do: disruptAndKill},
}
