// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strings"

	"github.com/miekg/dns"
)

// clusterDomains are the domains that no name may lead into, whole subtrees: those that the
// cluster's own nameserver answers for, and what any host takes for itself. The bare svc is among
// them, since a search list somewhere else would complete it.
func clusterDomains(cluster string) []string {
	domains := []string{"svc.", "localhost."}
	if cluster = dns.CanonicalName(strings.Trim(cluster, ".")); cluster != "." {
		domains = append(domains, cluster)
	}
	return domains
}

// isInCluster says whether a fully qualified name leads into the cluster.
func (r *Resolver) isInCluster(name string) bool {
	for _, domain := range r.domains {
		if dns.IsSubDomain(domain, name) {
			return true
		}
	}
	return false
}
