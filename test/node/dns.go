// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"

	"golang.org/x/net/dns/dnsmessage"
)

// domain of the cluster.
const domain = "cluster.local"

// serviceName is the name of a Service as pods look it up: kubelet's search list ends with the domain.
var serviceName = regexp.MustCompile(`^([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.` + regexp.QuoteMeta(domain) + `\.$`)

// serveNames is the cluster's DNS: it knows the ClusterIPs of Services and nothing else. It ends with ctx.
func (n *Node) serveNames(ctx context.Context) error {
	socket, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", net.JoinHostPort(Address, "53"))
	if err != nil {
		return fmt.Errorf("serve names: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return // it is closed
			}
			response, err := respond(buffer[:size], func(name, namespace string) string {
				address, err := n.Kubectl(ctx, "get", "service", name, "--namespace="+namespace, "--ignore-not-found", "--output=jsonpath={.spec.clusterIP}")
				if err != nil {
					return ""
				}
				return address
			})
			if err == nil {
				_, _ = socket.WriteTo(response, from) // the resolver asks again
			}
		}
	}()
	return nil
}

// respond returns the response to a query. A Service that lookup does not know is no name.
func respond(query []byte, lookup func(name, namespace string) string) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	response := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired, RCode: dnsmessage.RCodeNameError},
		Questions: []dnsmessage.Question{question},
	}
	if found := serviceName.FindStringSubmatch(question.Name.String()); found != nil {
		if address, err := netip.ParseAddr(lookup(found[1], found[2])); err == nil && address.Is4() {
			response.RCode = dnsmessage.RCodeSuccess
			if question.Type == dnsmessage.TypeA {
				response.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 1},
					Body:   &dnsmessage.AResource{A: address.As4()},
				}}
			}
		}
	}
	return response.Pack()
}
