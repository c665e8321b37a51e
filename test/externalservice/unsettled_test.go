// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// Each of the eight names resolves to another address with each lookup, and every one of these hangs: a first check is
// always under way.
func TestNamesThatNeverSettleKeepNothingElseFromBeingPublished(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	s.Patience = 30 * time.Second // several times the bound, and shorter than the names go on
	address := s.Servers.Address()
	s.server(s.Servers.HTTP(address + ":7000"))
	endpoints := []string{`{name: static, addresses: [` + address + `]}`}
	for i := range 8 {
		var pool []string
		for range 12 {
			pool = append(pool, s.Servers.Address())
			s.set(externalnet.Behavior{Fault: externalnet.Hang}, s.server(s.Servers.HTTP(pool[len(pool)-1]+":7000")))
		}
		host := s.host(fmt.Sprint("pool-", i))
		s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool, Window: 1}))
		endpoints = append(endpoints, fmt.Sprintf(`{name: pool-%d, priority: 1, dns: {name: %s}}`, i, host))
	}
	s.apply("db", spec(strings.Join(endpoints, ", "), "resolution", `{minTTL: 1s, maxTTL: 1s}`, "healthCheck", `{httpGet: {}, interval: 5s, timeout: 5s}`))
	s.publishes("db", address)
	s.change("db", func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].Zone = ptr.To("z1") })
	s.Eventually(func() error {
		if o, err := s.outlook("db", address); err != nil || o.zone != "z1" {
			return fmt.Errorf("the edit is not carried out: %+v, %w", o, err)
		}
		return nil
	})
}
