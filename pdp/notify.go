package pdp

import (
	"sync"

	"github.com/conjunct-project/conjunct/engine"
)

// subscribers are those who are told of what ran at tier execute_notify.
type subscribers struct {
	mu   sync.Mutex
	list map[*subscription]bool
}

// subscription is one of them, with what they have not been told yet.
type subscription struct {
	mu      sync.Mutex
	more    *sync.Cond
	waiting []engine.Decision
	stopped bool
	done    chan struct{}
}

// Subscribe calls tell for every call that is permitted from now on and that
// somebody has to be told of: tier execute_notify. The decision is on disk when
// it is told. Calls come one after the other, in the order of the journal, from a
// goroutine of their own; a slow one keeps nobody waiting but itself.
//
// Whoever subscribes ends it by calling stop, which waits until everything that
// was due has been told. What was permitted before stands in the journal:
// reexam.Notifications reads it there.
func (p *PDP) Subscribe(tell func(engine.Decision)) (stop func()) {
	s := &subscription{done: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
	p.subscribers.mu.Lock()
	if p.subscribers.list == nil {
		p.subscribers.list = map[*subscription]bool{}
	}
	p.subscribers.list[s] = true
	p.subscribers.mu.Unlock()
	go s.run(tell)
	return func() {
		p.subscribers.mu.Lock()
		delete(p.subscribers.list, s)
		p.subscribers.mu.Unlock()
		s.mu.Lock()
		s.stopped = true
		s.more.Signal()
		s.mu.Unlock()
		<-s.done
	}
}

func (s *subscription) run(tell func(engine.Decision)) {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.waiting) == 0 && !s.stopped {
			s.more.Wait()
		}
		told := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		if len(told) == 0 {
			return
		}
		for _, d := range told {
			tell(d)
		}
	}
}

// publish tells everybody of a decision, each of a copy of their own, without
// waiting for anybody.
func (l *subscribers) publish(d engine.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.list {
		s.mu.Lock()
		s.waiting = append(s.waiting, d.Clone())
		s.more.Signal()
		s.mu.Unlock()
	}
}
