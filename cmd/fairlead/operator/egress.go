// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// rangesTimeout is how long the webhooks wait, before they serve, for the ranges of the cluster:
// until these are known an object with addresses is refused for now. Nothing that is listed for
// them needs conversion, so the wait is no circle; it ends all the same, since conversion must not
// depend on, say, a missing right to list nodes.
const rangesTimeout = 2 * time.Second

// egressStack is the egress policy with what obeys it: the resolver and the dialer.
type egressStack struct {
	policy   *egress.Policy
	ranges   *egress.Ranges
	resolver *dns.Resolver
	dialer   *egress.Dialer
	logger   logr.Logger

	policyChanged    atomic.Pointer[func()]             // enqueues all objects: the policy may decide otherwise now
	addressesChanged atomic.Pointer[func([]netip.Addr)] // enqueues the objects that have one of the addresses
}

func newEgressStack(
	c *options.Configuration, self identity, api *rest.Config,
	dial func(context.Context, string, netip.AddrPort) (net.Conn, error), logger logr.Logger, metrics prometheus.Registerer,
) (*egressStack, error) {
	o := &egressStack{logger: logger.WithName("egress")}
	policy, err := egressOptions(c.Egress, self)
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
	o.ranges, err = egress.NewRanges(egress.RangesOptions{Policy: o.policy, Client: client, Host: api.Host,
		WithoutCluster: !c.ClusterAccess, Logger: o.logger, Registerer: metrics})
	if err != nil {
		return nil, err
	}
	o.dialer = egress.NewDialer(o.policy, dial)
	nameservers, err := c.ExternalServices.NameserverAddresses()
	if err != nil {
		return nil, fmt.Errorf("nameservers: %w", err)
	}
	o.resolver = dns.New(dns.Options{Nameservers: nameservers, ClusterDomain: c.ExternalServices.ClusterDomain})
	return o, nil
}

// waitForRanges waits for the ranges of the cluster, at most for rangesTimeout.
func (e *egressStack) waitForRanges(ctx context.Context) {
	timer := time.NewTimer(rangesTimeout)
	defer timer.Stop()
	select {
	case <-e.ranges.Synced():
	case <-ctx.Done():
	case <-timer.C:
		e.logger.Info("The ranges of the cluster are not known yet; until they are, ExternalServices with addresses are refused for now", "waited", rangesTimeout.String())
	}
}

// webhookExemptNamespaces returns the namespaces for which the webhooks are not called: annotations that
// approve something there were written by users.
func webhookExemptNamespaces(self identity) []string {
	return []string{metav1.NamespaceSystem, self.namespace}
}

// egressOptions are those of the policy.
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
