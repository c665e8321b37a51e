// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// Address is the node's own. Nothing beyond its namespace can reach it.
	Address  = "10.10.0.2"
	gateway  = "10.10.0.1"
	podRange = "10.244.1.0/24"
	services = "10.96.0.0/16"
)

// network gives the node its address, on one end of a pair of devices. The other end leads nowhere. The default route is for
// Services, whose addresses exist only as rules. Without any route to one, the kernel refuses a connection before it evaluates
// the rules.
func network(ctx context.Context) error {
	for _, line := range []string{
		"link set lo up",
		"link add node0 type veth peer name nowhere0",
		"link set nowhere0 up",
		"addr add " + Address + "/24 dev node0",
		"link set node0 up",
		"route add default via " + gateway + " dev node0",
	} {
		if err := said(ctx, "ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	const forward = "/proc/sys/net/ipv4/ip_forward"
	if err := os.WriteFile(forward, []byte("1"), 0o600); err != nil {
		return fmt.Errorf("let packets pass between pods: %w", err)
	}
	return nil
}

// cni is the network of the pods: a bridge.
func cni(folder string) error {
	config := fmt.Sprintf(`{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"hairpinMode":true,
 "ipam":{"type":"host-local","dataDir":%q,"ranges":[[{"subnet":%q}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}
`, filepath.Join(state, "ipam"), podRange)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("the pods' network: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "10-pods.conflist"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("the pods' network: %w", err)
	}
	return nil
}
