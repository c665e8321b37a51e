// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// One object that fits its type no more is a list that client-go does not decode: everything else of the
// kind would stand still (and does, with the informers of controller-runtime 0.25.2).
func TestOneMistypedObjectStopsNoOther(t *testing.T) {
	t.Parallel()
	s, store, replica := newBrokenSuite(t)
	reader := s.readerToken()
	for _, name := range []string{"good", "turned", "found", "gone"} {
		s.publish(name, database)
	}
	s.apply(rebootPolicies.object("v1", "good", valid["RebootPolicy"]))
	s.apply(chaosPods.object("v1", "good", valid["ChaosPod"]))

	// It comes by the watch.
	for _, name := range []string{"turned", "gone"} {
		s.ruin(store, externalServices, name)
	}
	broken := map[kind][]string{externalServices: {"turned", "gone"}}
	for _, k := range []kind{rebootPolicies, chaosPods} {
		object := s.stored(k, "turned")
		spoil(k, object)
		store.put(k, s.Namespace, "turned", object)
		broken[k] = []string{"turned"}
	}
	s.named(replica, reader, broken)
	s.goesOn("192.0.2.2")
	s.publishes("turned", "192.0.2.1")

	// What is to go stays until it is repaired: whether its Service is to go with it cannot be read.
	s.run("delete", "--wait=false", externalServices.at("v1"), "gone")
	s.goesOn("192.0.2.6")
	s.publishes("gone", "192.0.2.1")
	s.mend(externalServices, "gone", database)
	s.Eventually(func() error {
		if left := s.run("get", "--ignore-not-found", "-o", "name", externalServices.at("v1"), "gone"); left != "" {
			return fmt.Errorf("%s is still there", strings.TrimSpace(left))
		}
		return nil
	})
	broken[externalServices] = []string{"turned"}
	s.named(replica, reader, broken)

	// It is there when the operator comes, and lists.
	replica.Stop()
	s.run("delete", "lease", "--all", "-n", "fairlead-system")
	s.ruin(store, externalServices, "found")
	broken[externalServices] = []string{"turned", "found"}
	replica, err := s.StartReplica(t.Context(), framework.Patient()...)
	s.Must(err)
	s.named(replica, reader, broken)
	s.goesOn("192.0.2.3")
	s.publishes("turned", "192.0.2.1")
	s.publishes("found", "192.0.2.1")

	// It is repaired past the API server, as a restored backup is, and by a user.
	repaired := s.asStored(externalServices, "turned")
	repaired["spec"] = parse(strings.ReplaceAll(database, "192.0.2.1", "192.0.2.4"))
	store.put(externalServices, s.Namespace, "turned", repaired)
	s.publishes("turned", "192.0.2.4")
	s.mend(externalServices, "found", strings.ReplaceAll(database, "192.0.2.1", "192.0.2.5"))
	s.publishes("found", "192.0.2.5")
	delete(broken, externalServices)
	s.mend(rebootPolicies, "turned", valid[rebootPolicies.name])
	s.mend(chaosPods, "turned", `{target: {template: {spec: {containers: [{name: c, image: nginx}]}}}}`) // no template can be removed
	delete(broken, rebootPolicies)
	delete(broken, chaosPods)
	s.named(replica, reader, broken)
}
