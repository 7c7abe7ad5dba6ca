package refusals

// Queue passes messages on to a client for a goroutine that must not wait for it.
type Queue struct {
	messages chan []byte
	ended    chan struct{}
}

// NewQueue returns an empty Queue.
func NewQueue() *Queue { return &Queue{make(chan []byte, 4), make(chan struct{})} }

// Push adds a message, or drops it if the client does not read.
func (q *Queue) Push(message []byte) {
	select {
	case q.messages <- message:
	default:
	}
}

// Run sends the messages until End is called, and then those that were added before.
func (q *Queue) Run(send func([]byte) error) {
	for {
		select {
		case m := <-q.messages:
			send(m)
		case <-q.ended:
			for {
				select {
				case m := <-q.messages:
					send(m)
				default:
					return
				}
			}
		}
	}
}

// End ends Run.
func (q *Queue) End() { close(q.ended) }
