// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// place returns what stands for a name in braces, given the indexes of the path at v1; false where the
// object has nothing there that v1alpha1 shows.
func (o *Object) place(name string, indexes []int) (string, bool) {
	switch name {
	case "port":
		ports := list(o.stored, "spec", "ports")
		if indexes[0] >= len(ports) {
			return "", false
		}
		return key(text(ports[indexes[0]], "name"))
	case "host of probe":
		return o.probedHost(indexes[0])
	case "refresh":
		resolution := at(o.stored, "spec", "resolution")
		return "refreshSeconds", text(resolution, "minTTL") == text(resolution, "maxTTL")
	case "target":
		return "target", indexes[0] == 0
	case "policy":
		return o.policy(indexes[0])
	case "host":
		return o.host(indexes[0], 0)
	case "address":
		return o.host(indexes[0], indexes[1])
	}
	return "", false
}

// probedHost returns which member of a probe has the host that is checked instead of pods: v1alpha1 has none for grpc.
func (o *Object) probedHost(trigger int) (string, bool) {
	triggers := list(o.stored, "spec", "triggers")
	for _, member := range []string{"tcpSocket", "httpGet"} {
		if trigger < len(triggers) && at(triggers[trigger], "probe", member) != nil {
			return "." + member + ".host", true
		}
	}
	return "", false
}

// policy returns which policy a trigger is: v1alpha1 shows those that probe.
func (o *Object) policy(trigger int) (string, bool) {
	triggers := list(o.stored, "spec", "triggers")
	if trigger >= len(triggers) || text(triggers[trigger], "type") != "Probe" {
		return "", false
	}
	policy := 0
	for _, before := range triggers[:trigger] {
		if text(before, "type") == "Probe" {
			policy++
		}
	}
	return index(policy), true
}

// host returns which host the address of an endpoint is: v1alpha1 lists all of them in the order of
// failover.
func (o *Object) host(endpoint, address int) (string, bool) {
	endpoints := list(o.stored, "spec", "endpoints")
	if endpoint >= len(endpoints) {
		return "", false
	}
	order := make([]int, len(endpoints))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priority(endpoints[a]), priority(endpoints[b])) })
	before := 0
	for _, i := range order {
		dns := 0
		if at(endpoints[i], "dns") != nil {
			dns = 1
		}
		shown := dns + len(list(endpoints[i], "addresses"))
		if i != endpoint {
			before += shown
			continue
		}
		if len(list(endpoints[i], "addresses")) > 0 {
			address += dns
		}
		return index(before + address), address < shown
	}
	return "", false
}

func priority(endpoint any) float64 {
	switch n := at(endpoint, "priority").(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

// key writes that of a map as the API server does; one with a dot in it would read as two.
func key(name string) (string, bool) {
	if strings.ContainsAny(name, ".[]") {
		return "[" + name + "]", true
	}
	return "." + name, name != ""
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }
