// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"container/list"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxClients is how many ServiceAccounts have a client at once; the one that was used least lately is
// made anew when it is needed.
const maxClients = 64

// clients act in the name of ServiceAccounts. The API server gives them the groups that they are in.
type clients struct {
	own client.Client
	// make answers a client for a user.
	make func(user string) (client.Client, error)

	mu     sync.Mutex
	recent *list.List // of *impersonator, the latest first
	byUser map[string]*list.Element
}

type impersonator struct {
	user   string
	client client.Client
}

func newClients(own client.Client, config *rest.Config) *clients {
	return &clients{own: own, recent: list.New(), byUser: map[string]*list.Element{}, make: func(user string) (client.Client, error) {
		as := rest.CopyConfig(config)
		as.Impersonate = rest.ImpersonationConfig{UserName: user}
		return client.New(as, client.Options{Scheme: own.Scheme(), Mapper: own.RESTMapper()})
	}}
}

// as answers the client for a ServiceAccount, or the operator's own where there is none.
func (c *clients) as(namespace, serviceAccount string) (client.Client, error) {
	if serviceAccount == "" {
		return c.own, nil
	}
	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byUser[user]; ok {
		c.recent.MoveToFront(at)
		if known, ok := at.Value.(*impersonator); ok {
			return known.client, nil
		}
	}
	made, err := c.make(user)
	if err != nil {
		return nil, err
	}
	c.byUser[user] = c.recent.PushFront(&impersonator{user, made})
	if c.recent.Len() > maxClients {
		if old, ok := c.recent.Remove(c.recent.Back()).(*impersonator); ok {
			delete(c.byUser, old.user)
		}
	}
	return made, nil
}
