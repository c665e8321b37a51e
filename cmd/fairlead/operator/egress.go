// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// rangesTimeout is how long the webhooks wait for the ranges of the cluster before they serve. Until these are known,
// admission refuses objects with addresses. The wait is bounded, since conversion must not depend on it: the operator
// may lack the right to list nodes.
const rangesTimeout = 2 * time.Second

// egressStack holds the egress policy, and the resolver and the dialer that obey it.
type egressStack struct {
	policy   *egress.Policy
	ranges   *egress.Ranges
	resolver *dns.Resolver
	dialer   *egress.Dialer
	logger   logr.Logger
	waited   sync.Once

	policyChanged    atomic.Pointer[func()]             // enqueues all objects when the policy has changed
	addressesChanged atomic.Pointer[func([]netip.Addr)] // enqueues the objects with one of the addresses
}

// newEgress creates the policy, the resolver and the dialer.
func (a *assembly) newEgress(api *rest.Config) (*egressStack, error) {
	o, c := &egressStack{logger: a.logger.WithName("egress")}, a.config
	policy, err := egressOptions(c.Egress, a.identity)
	if err != nil {
		return nil, err
	}
	policy.Notify = func() {
		if again := o.policyChanged.Load(); again != nil {
			(*again)()
		}
	}
	policy.NotifyAddresses = func(addresses []netip.Addr) {
		if again := o.addressesChanged.Load(); again != nil {
			(*again)(addresses)
		}
	}
	o.policy = egress.NewPolicy(policy)
	client, err := kubernetes.NewForConfig(binary(api))
	if err != nil {
		return nil, err
	}
	ranges := egress.RangesOptions{
		Policy: o.policy, Client: client, Host: api.Host, WithoutCluster: !c.ClusterAccess, Logger: o.logger, Registerer: a.metrics,
	}
	if !a.kinds.haveAddresses() {
		ranges.WithoutCluster, ranges.Registerer = true, nil // no enabled kind uses the policy
	}
	o.ranges, err = egress.NewRanges(ranges)
	if err != nil {
		return nil, err
	}
	o.dialer = egress.NewDialer(o.policy, a.dial)
	nameservers, err := c.ExternalServices.NameserverAddresses()
	if err != nil {
		return nil, fmt.Errorf("nameservers: %w", err)
	}
	o.resolver = dns.New(dns.Options{Nameservers: nameservers, ClusterDomain: c.ExternalServices.ClusterDomain})
	return o, nil
}

// notify sets the functions that enqueue objects when the policy changes: all objects, or those with one of some
// addresses.
func (e *egressStack) notify(all func(), having func([]netip.Addr)) {
	e.policyChanged.Store(&all)
	e.addressesChanged.Store(&having)
}

// waitForRanges waits until the ranges of the cluster are known, at most until rangesTimeout after the first call.
func (e *egressStack) waitForRanges(ctx context.Context) {
	e.waited.Do(func() { e.awaitRanges(ctx) })
}

func (e *egressStack) awaitRanges(ctx context.Context) {
	timer := time.NewTimer(rangesTimeout)
	defer timer.Stop()
	select {
	case <-e.ranges.Synced():
	case <-ctx.Done():
	case <-timer.C:
		e.logger.Info("The ranges of the cluster are not known yet; until they are, ExternalServices with addresses are refused for now", "waited", rangesTimeout.String())
	}
}

// egressOptions returns the options of the policy.
func egressOptions(c options.Egress, self identity) (egress.Options, error) {
	policy := egress.Options{
		WebhookExemptNamespaces: webhookExemptNamespaces(self),
		DefaultDeny:             c.Default == options.EgressDeny,
		ClusterDeny:             c.ClusterRanges == options.EgressDeny,
	}
	var err error
	if policy.ClusterCIDRs, err = options.Prefixes(c.ClusterCIDRs); err != nil {
		return egress.Options{}, fmt.Errorf("egress.clusterCIDRs: %w", err)
	}
	if policy.Allow, err = egressRules(c.Allow); err != nil {
		return egress.Options{}, fmt.Errorf("egress.allow: %w", err)
	}
	if policy.Deny, err = egressRules(c.Deny); err != nil {
		return egress.Options{}, fmt.Errorf("egress.deny: %w", err)
	}
	return policy, nil
}

func egressRules(configured []options.EgressRule) ([]egress.Rule, error) {
	rules := make([]egress.Rule, 0, len(configured))
	for _, rule := range configured {
		prefixes, err := options.Prefixes(rule.CIDRs)
		if err != nil {
			return nil, err
		}
		ports := make([]uint16, 0, len(rule.Ports))
		for _, port := range rule.Ports {
			ports = append(ports, uint16(port))
		}
		rules = append(rules, egress.Rule{CIDRs: prefixes, Ports: ports, Namespaces: rule.Namespaces})
	}
	return rules, nil
}
